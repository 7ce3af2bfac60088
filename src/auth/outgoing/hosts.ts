import { BlockList, isIP } from 'node:net'

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/
/** Returns true for a URL of the local machine. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname)

/**
 * Parses an address or a network such as `10.0.0.0/8`; undefined for anything else. `holds` is false for a host name,
 * because names are not resolved.
 */
const rangeOf = (text: string) => {
  const [, address = '', given] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = familyOf(address)
  const most = family === 'ipv4' ? 32 : 128
  const bits = Number(given ?? most)
  if (family === undefined || bits > most) return undefined
  const range = new BlockList()
  range.addSubnet(address, bits, family)
  const holds = (host: string): boolean => isIP(host) !== 0 && range.check(host, familyOf(host))
  return { address, bits, family, holds }
}
const familyOf = (host: string): 'ipv4' | 'ipv6' | undefined =>
  isIP(host) === 0 ? undefined : `ipv${isIP(host) as 4 | 6}`

/** Host of a URL, without the brackets of an IPv6 address and the trailing dot of a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', '127.0.0.0/8', '::1'].map(
  (text) => rangeOf(text)!,
)
/** A host name; a leading dot matches every name below it. */
export const HOST_NAME = /^\.?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** Returns the error in an entry of the plain-http host list; undefined for a private address or network, or a name. */
export const wrongWithPrivateHost = (text: string): string | undefined => {
  const range = rangeOf(text)
  if (!range)
    return HOST_NAME.test(text) && !/^[\d.]+$/.test(text)
      ? undefined
      : 'must be a host name, .example.internal for every name below, or a private address or network'
  const within = PRIVATE.some(
    (whole) => whole.family === range.family && whole.bits <= range.bits && whole.holds(range.address),
  )
  return within ? undefined : 'is not private: addresses are those of RFC 1918 and fc00::/7'
}

/** Returns a test for URLs that may be called over plain http: the local machine and the listed hosts. */
export const plainHttp = (named: readonly string[]): ((url: URL) => boolean) => {
  const tests = named.map((text) => {
    const name = text.toLowerCase()
    return rangeOf(text)?.holds ?? ((host: string) => (name.startsWith('.') ? host.endsWith(name) : host === name))
  })
  return (url) => isLoopback(url) || tests.some((test) => test(hostOf(url)))
}

/** Port of an http or https URL. */
export const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80)

/**
 * Returns a test whether a URL is in a list in `NO_PROXY` syntax. Entries are names (each with its subdomains),
 * addresses, networks, or `*` for all hosts. A leading dot and a port are optional. An invalid entry of the list
 * matches no host.
 */
export const listed = (list: readonly string[]): ((url: URL) => boolean) => {
  const tests = list.map((text) => {
    if (text === '*') return () => true
    const [, six, named, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? []
    const place = (six ?? named ?? text).toLowerCase()
    const name = place.replace(/^\*?\./, '').replace(/\.$/, '')
    const isThere = rangeOf(place)?.holds ?? ((host: string) => name !== '' && `.${host}`.endsWith(`.${name}`))
    return (url: URL) => isThere(hostOf(url)) && (port === undefined || Number(port) === portOf(url))
  })
  return (url) => tests.some((test) => test(url))
}
