import { BlockList, isIP } from 'node:net'

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/
/** True for a URL of this machine itself. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname)

type Range = { readonly address: string; readonly bits: number; readonly family: 'ipv4' | 'ipv6' }

/** An address, or a network such as `10.0.0.0/8`; undefined for anything else. */
const rangeOf = (text: string): Range | undefined => {
  const [, address = '', given] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  const bits = Number(given ?? most)
  return version === 0 || bits > most ? undefined : { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Whether a range holds an address; a name is in none, for nobody is asked for its address. */
const holds = ({ address, bits, family }: Range): ((host: string) => boolean) => {
  const range = new BlockList()
  range.addSubnet(address, bits, family)
  return (host) => isIP(host) !== 0 && range.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6')
}

/** The host of a URL, without the brackets of an IPv6 address and the dot at the end of a name. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

/** The name for which the server of a URL shows its certificate: none for an address. Without it the header `Host` would say. */
export const serverNameOf = (url: URL): string => (isIP(hostOf(url)) === 0 ? hostOf(url) : '')

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', '127.0.0.0/8', '::1'].map(
  (text) => rangeOf(text)!,
)
/** A host name, or with a dot in front every name below it. */
export const HOST_NAME = /^\.?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

/** What keeps a text from naming hosts that may be asked over plain http; undefined for a private address or network, and for a name. */
export const wrongWithPrivateHost = (text: string): string | undefined => {
  const range = rangeOf(text)
  if (!range)
    return HOST_NAME.test(text) && !/^[\d.]+$/.test(text)
      ? undefined
      : 'must be a host name, .example.internal for every name below, or a private address or network'
  const within = PRIVATE.some(
    (whole) => whole.family === range.family && whole.bits <= range.bits && holds(whole)(range.address),
  )
  return within ? undefined : 'is not private: addresses are those of RFC 1918 and fc00::/7'
}

/** Whether an address may be asked over plain http: on this machine, and where the operator named its host. */
export const plainHttp = (named: readonly string[]): ((url: URL) => boolean) => {
  const tests = named.map((text) => {
    const range = rangeOf(text)
    if (range) return holds(range)
    const name = text.toLowerCase()
    return name.startsWith('.') ? (host: string) => host.endsWith(name) : (host: string) => host === name
  })
  return (url) => isLoopback(url) || tests.some((test) => test(hostOf(url)))
}

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * Whether an address is on a list as `NO_PROXY` has it: names, each with those below it whether or not a dot stands in front,
 * addresses and networks, all of them with a port at will, and `*` for every host. What is none of these names nobody.
 */
export const listed = (list: readonly string[]): ((url: URL) => boolean) => {
  const tests = list.map((text) => {
    if (text === '*') return () => true
    const [, six, named, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? []
    const place = (six ?? named ?? text).toLowerCase()
    const range = rangeOf(place)
    const name = place.replace(/^\*?\./, '').replace(/\.$/, '')
    const isThere = range ? holds(range) : (host: string) => name !== '' && `.${host}`.endsWith(`.${name}`)
    return (url: URL) =>
      isThere(hostOf(url)) && (port === undefined || Number(port) === Number(url.port || PORTS[url.protocol]))
  })
  return (url) => tests.some((test) => test(url))
}
