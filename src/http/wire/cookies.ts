import '@fastify/cookie'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'

/** Names and attributes of the two cookies (api.md §3.4). `domain` has no scheme or port. */
type CookieSettings = {
  readonly tokenName: string
  readonly stateName: string
  readonly domain?: string | undefined
  readonly secure: boolean
  readonly publicUrl?: string | undefined
  readonly trustProxy: boolean | readonly string[]
  readonly clock: Clock
}

const plainPrefix = /^(?:\/[A-Za-z0-9._~-]+)*$/

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

/** Returns a test for trusted proxies: all peers, no peer, or the listed addresses and CIDRs. */
export const truster = (trusted: CookieSettings['trustProxy']): ((peer: string | undefined) => boolean) => {
  if (typeof trusted === 'boolean') return () => trusted
  const proxies = new BlockList()
  for (const entry of trusted) {
    const [address = '', bits] = entry.split('/')
    if (bits === undefined) proxies.addAddress(address, familyOf(address))
    else proxies.addSubnet(address, Number(bits), familyOf(address))
  }
  return (peer) => peer !== undefined && proxies.check(peer, familyOf(peer))
}

const DOMAINS = 4
/** Number of hex digits of the state's hash in the name of a state cookie. */
const DIGITS = 16
/** Path at which a page requests its session. */
const SESSION = '/auth/v1/self/session'
/** Path at which a page ends its session. */
const EXPIRE = '/auth/v1/self/expire'

/**
 * Domains whose cookies a browser sends to a host, shortest first; none for an IP address. Browsers reject public
 * suffixes such as `com` themselves.
 */
const domainsOf = (host: string): readonly string[] => {
  const labels = host.includes(':') || isIP(host) !== 0 ? [] : host.split('.')
  return labels
    .map((_, n) => labels.slice(n).join('.'))
    .slice(0, -1)
    .toReversed()
    .slice(0, DOMAINS)
}

/**
 * Returns the external base path, `''` for none: `X-Forwarded-Prefix` of a trusted proxy, followed by the path of the
 * public URL.
 */
const basePathOf = ({ publicUrl, trustProxy }: Pick<CookieSettings, 'publicUrl' | 'trustProxy'>) => {
  const own = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
  const trusts = truster(trustProxy)
  return ({ raw }: FastifyRequest): string => {
    const prefix = raw.headers['x-forwarded-prefix']
    return typeof prefix === 'string' && plainPrefix.test(prefix) && trusts(raw.socket.remoteAddress)
      ? prefix + own
      : own
  }
}

/** Attributes of each kind of cookie, and of its lifetime in ms. */
const attributesBy = (settings: CookieSettings) => {
  const { domain, secure, clock } = settings
  const basePath = basePathOf(settings)
  // The values of both cookies consist of allowed characters, so they are sent without encoding.
  const shared = {
    httpOnly: true,
    secure,
    encode: String,
    ...(domain === undefined || domain === 'localhost' ? {} : { domain }),
  }
  const strict = (request: FastifyRequest, path: string) =>
    ({ ...shared, sameSite: 'strict', path: `${basePath(request)}${path}` }) as const
  const ofToken = (request: FastifyRequest) => ({ ...strict(request, ''), path: basePath(request) || '/' })
  const ofRefused = (request: FastifyRequest) => strict(request, SESSION)
  const ofIdToken = (request: FastifyRequest) => strict(request, EXPIRE)
  const ofLogout = (path: string) => ({ ...shared, sameSite: 'lax', path }) as const
  // The path without `/callback` also covers `/authorize`, at which the next login begins.
  const ofState = (path: string) => ({ ...shared, sameSite: 'lax', path: path.replace(/\/callback$/, '') }) as const
  /** Lifetime of a cookie, at least 1 s because browsers delete a cookie with lifetime 0. */
  const lasting = (ms: number) => {
    const seconds = Math.max(1, Math.floor(ms / 1000))
    return { maxAge: seconds, expires: new Date(clock.now().getTime() + seconds * 1000) }
  }
  return { basePath, ofToken, ofRefused, ofIdToken, ofLogout, ofState, lasting }
}

/**
 * Sets and clears the token cookie and the state cookies. Lifetimes are in ms; `path` of a state cookie is the path of
 * the redirect address.
 */
export const cookieJar = (settings: CookieSettings) => {
  const { tokenName, stateName } = settings
  const { basePath, ofToken, ofRefused, ofIdToken, ofLogout, ofState, lasting } = attributesBy(settings)
  const isTwice = ({ headers: { cookie = '' } }: FastifyRequest): boolean => pairs(cookie, tokenName) > 1
  return {
    setToken: (request: FastifyRequest, reply: FastifyReply, token: string, life: number) =>
      void reply.setCookie(tokenName, token, { ...ofToken(request), ...lasting(life) }),
    /**
     * Clears the token cookie. If the browser sent two token cookies, they are cleared for every domain and path that
     * may have set one.
     */
    clearToken: (request: FastifyRequest, reply: FastifyReply): void => {
      const own = ofToken(request)
      if (!isTwice(request)) return void reply.clearCookie(tokenName, own)
      const { domain: _, ...shared } = own
      for (const domain of new Set([undefined, own.domain, ...domainsOf(request.hostname)]))
        for (const path of new Set([own.path, '/']))
          reply.clearCookie(tokenName, { ...shared, path, ...(domain === undefined ? {} : { domain }) })
    },
    /**
     * Name of the state cookie of a login, derived from the hash of its state, so that concurrent logins do not
     * overwrite each other.
     */
    stateName: (login: string): string => `${stateName}_${login.slice(0, DIGITS)}`,
    setState: (reply: FastifyReply, name: string, state: string, path: string, life: number) =>
      void reply.setCookie(name, state, { ...ofState(path), ...lasting(life) }),
    /**
     * Stores the identity of a refused login for the login page, under the name of the state cookie with another path.
     */
    setRefused: (request: FastifyRequest, reply: FastifyReply, refused: string, life: number) =>
      void reply.setCookie(stateName, refused, { ...ofRefused(request), ...lasting(life) }),
    /** Stores the sealed ID token of a session for the path at which the session ends. */
    setIdToken: (request: FastifyRequest, reply: FastifyReply, sealed: string, life: number) =>
      void reply.setCookie(stateName, sealed, { ...ofIdToken(request), ...lasting(life) }),
    clearIdToken: (request: FastifyRequest, reply: FastifyReply) =>
      void reply.clearCookie(stateName, ofIdToken(request)),
    /** Stores the state of a logout for the path to which the provider redirects. */
    setLogout: (reply: FastifyReply, state: string, path: string, life: number) =>
      void reply.setCookie(stateName, state, { ...ofLogout(path), ...lasting(life) }),
    clearLogout: (reply: FastifyReply, path: string) => void reply.clearCookie(stateName, ofLogout(path)),
    clearState: (reply: FastifyReply, name: string, path: string) => void reply.clearCookie(name, ofState(path)),
    /** External path prefix of the service, as the browser sees it. */
    basePath,
    /** True if the browser sent two token cookies. Pages of the service set only one. */
    isTwice,
    /** Value of the token cookie; undefined if the browser sent none or two. */
    token: (request: FastifyRequest): string | undefined =>
      isTwice(request) ? undefined : request.server.parseCookie(request.headers.cookie ?? '')[tokenName] || undefined,
    /** True if the browser sent a token cookie, valid or not. */
    hasToken: (request: FastifyRequest): boolean =>
      isTwice(request) || Boolean(request.server.parseCookie(request.headers.cookie ?? '')[tokenName]),
    /**
     * State cookies of the request, by name. The value is undefined for a name sent twice, because another site on the
     * host may have set it.
     */
    states: ({ headers: { cookie = '' }, server }: FastifyRequest): ReadonlyMap<string, string | undefined> =>
      new Map(
        Object.entries(server.parseCookie(cookie))
          .filter(([name, value]) => name.startsWith(`${stateName}_`) && value)
          .map(([name, value]) => [name, pairs(cookie, name) === 1 ? value : undefined]),
      ),
    /** Value of the cookie that `setRefused`, `setIdToken` or `setLogout` stored for the path of the request. */
    stored: ({ headers: { cookie = '' }, server }: FastifyRequest): string | undefined =>
      server.parseCookie(cookie)[stateName],
  }
}

export type CookieJar = ReturnType<typeof cookieJar>

/** Number of occurrences of a cookie in a Cookie header; the parser returns only one. */
export const pairs = (header: string, name: string): number =>
  header.split(';').filter((pair) => pair.split('=', 1)[0]!.trim() === name).length
