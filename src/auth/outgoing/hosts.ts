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

/** Value of a proxy setting that disables the proxy, regardless of the environment variables. */
export const DIRECT = 'none'

/** Parses the address of a proxy: `[http[s]://][name:password@]host[:port]`. */
const addressOf = (text = ''): URL | undefined => {
  const [, scheme = 'http://', rest = ''] = /^(https?:\/\/)?([^/?#\s\\]+)\/?$/i.exec(text) ?? []
  try {
    const url = new URL(scheme + rest)
    proxyAuthorization(url)
    return url
  } catch {
    return undefined
  }
}

/** Returns the error in a proxy address. The message never repeats the text because it may contain a password. */
export const wrongWithProxy = (text: string): string | undefined =>
  addressOf(text)
    ? undefined
    : 'must be an http or https proxy, such as http://proxy.example.com:3128 or http://name:password@proxy.example.com:3128, with special characters in name and password percent-encoded (%40)'

/**
 * The proxy in `own` applies to every URL. If `own` is absent, the other settings apply, like curl's environment
 * variables of the same names.
 */
type Proxies = {
  readonly own?: string | undefined
  readonly https?: string | undefined
  readonly http?: string | undefined
  /** Hosts that are called without a proxy (`NO_PROXY`). */
  readonly except: readonly string[]
}

/** Returns a function that selects the proxy for a URL; undefined: none. */
export const proxyFor = ({ own, https, http, except }: Proxies): ((url: URL) => URL | undefined) => {
  if (own !== undefined) {
    const proxy = own === DIRECT ? undefined : addressOf(own)
    return () => proxy
  }
  const isExcepted = listed(except)
  const proxies: Readonly<Record<string, URL | undefined>> = {
    'https:': addressOf(https),
    'http:': addressOf(http),
  }
  return (url) => (isLoopback(url) || isExcepted(url) ? undefined : proxies[url.protocol])
}

/** `Proxy-Authorization` header with the credentials in the proxy's address; empty without credentials. */
export const proxyAuthorization = ({ username, password }: URL): Readonly<Record<string, string>> => {
  if (username === '' && password === '') return {}
  const words = [username, password].map(decodeURIComponent).join(':')
  return { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` }
}
