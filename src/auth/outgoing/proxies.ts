import { isLoopback, listed } from './hosts.ts'

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
