import { isLoopback, listed } from './hosts.ts'

/** The word for no proxy, whatever the usual variables say. */
export const DIRECT = 'none'

/** The address of a proxy, where a text is one: `[http[s]://][name:password@]host[:port]`. */
const addressOf = (text: string): URL | undefined => {
  const [, scheme = 'http://', rest = ''] = /^(https?:\/\/)?([^/?#\s\\]+)\/?$/i.exec(text) ?? []
  if (!URL.canParse(scheme + rest)) return undefined
  const url = new URL(scheme + rest)
  return isEncoded(url.username) && isEncoded(url.password) ? url : undefined
}

const isEncoded = (text: string): boolean => {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

/** What keeps a text from being the address of a proxy. Never repeats any of it: it may hold a password. */
export const wrongWithProxy = (text: string): string | undefined =>
  addressOf(text)
    ? undefined
    : 'must be an http or https proxy, such as http://proxy.example.com:3128 or http://name:password@proxy.example.com:3128, what is special in name and password written as %40'

/** `own` counts for every address; without it the others do, as the variables of the same names do for curl. */
export type Proxies = {
  readonly own?: string | undefined
  readonly https?: string | undefined
  readonly http?: string | undefined
  /** Hosts that are asked without (`NO_PROXY`). */
  readonly except: readonly string[]
}

/** The proxy through which an address is asked; undefined: none. */
export const proxyFor = ({ own, https, http, except }: Proxies): ((url: URL) => URL | undefined) => {
  if (own !== undefined) {
    const proxy = own === DIRECT ? undefined : addressOf(own)
    return () => proxy
  }
  const isExcepted = listed(except)
  const proxies: Readonly<Record<string, URL | undefined>> = {
    'https:': https === undefined ? undefined : addressOf(https),
    'http:': http === undefined ? undefined : addressOf(http),
  }
  return (url) => (isLoopback(url) || isExcepted(url) ? undefined : proxies[url.protocol])
}

/** What our name and password for a proxy are sent as; nothing where its address has none. */
export const proxyAuthorization = ({ username, password }: URL): Readonly<Record<string, string>> => {
  if (username === '' && password === '') return {}
  const words = [username, password].map(decodeURIComponent).join(':')
  return { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` }
}
