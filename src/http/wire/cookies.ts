import '@fastify/cookie'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'

/** Names and attributes of the two cookies (api.md §3.4). `domain` is without scheme and port. */
export type CookieSettings = {
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

/** Whether a peer is a proxy whose forwarded headers count: all, none, or these addresses and CIDRs. */
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
/** So much of the hash of a login's state stands in the name of its cookie. */
const DIGITS = 16
/** Where a page asks who it is for. */
const SESSION = '/auth/v1/self/session'

/** The domains whose cookies a browser sends to a host, the shortest first; a browser itself refuses those that are nobody's (`com`). None for an address. */
const domainsOf = (host: string): readonly string[] => {
  const labels = host.includes(':') || isIP(host) !== 0 ? [] : host.split('.')
  return labels
    .map((_, n) => labels.slice(n).join('.'))
    .slice(0, -1)
    .toReversed()
    .slice(0, DOMAINS)
}

/** The path that the outside world sees in front of ours, `''` for none: a trusted proxy's `X-Forwarded-Prefix`, then the path of the public URL. */
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

/** Sets and clears the token cookie and the state cookies. Lives are milliseconds; `path` of a state cookie is that of the redirect address. */
export const cookieJar = (settings: CookieSettings) => {
  const { tokenName, stateName, domain, secure, clock } = settings
  const basePath = basePathOf(settings)
  // Both values are made of cookie characters: they are sent letter for letter.
  const shared = {
    httpOnly: true,
    secure,
    encode: String,
    ...(domain === undefined || domain === 'localhost' ? {} : { domain }),
  }
  const ofToken = (request: FastifyRequest) =>
    ({ ...shared, sameSite: 'strict', path: basePath(request) || '/' }) as const
  const ofRefused = (request: FastifyRequest) =>
    ({ ...shared, sameSite: 'strict', path: `${basePath(request)}${SESSION}` }) as const
  // The browser shows it at `/authorize` beside it too, where the next login begins.
  const ofState = (path: string) => ({ ...shared, sameSite: 'lax', path: path.replace(/\/callback$/, '') }) as const
  const isTwice = ({ headers: { cookie = '' } }: FastifyRequest): boolean => pairs(cookie, tokenName) > 1
  /** A life of less than a second would be an order to forget the cookie at once. */
  const lasting = (ms: number) => {
    const seconds = Math.max(1, Math.floor(ms / 1000))
    return { maxAge: seconds, expires: new Date(clock.now().getTime() + seconds * 1000) }
  }
  return {
    setToken: (request: FastifyRequest, reply: FastifyReply, token: string, life: number) =>
      void reply.setCookie(tokenName, token, { ...ofToken(request), ...lasting(life) }),
    /** Clears the token cookie. Of two, as far as a server can, every one that this host may have been given, by a sibling domain too. */
    clearToken: (request: FastifyRequest, reply: FastifyReply): void => {
      const own = ofToken(request)
      if (!isTwice(request)) return void reply.clearCookie(tokenName, own)
      const { domain: _, ...shared } = own
      for (const domain of new Set([undefined, own.domain, ...domainsOf(request.hostname)]))
        for (const path of new Set([own.path, '/']))
          reply.clearCookie(tokenName, { ...shared, path, ...(domain === undefined ? {} : { domain }) })
    },
    /** The name of the state cookie of a login, by the hash of its state: each has its own, so that no login ends another. */
    stateName: (login: string): string => `${stateName}_${login.slice(0, DIGITS)}`,
    setState: (reply: FastifyReply, name: string, state: string, path: string, life: number) =>
      void reply.setCookie(name, state, { ...ofState(path), ...lasting(life) }),
    /** Tells the page of a login that was refused who it was: under the name of the state cookie, at another path. */
    setRefused: (request: FastifyRequest, reply: FastifyReply, refused: string, life: number) =>
      void reply.setCookie(stateName, refused, { ...ofRefused(request), ...lasting(life) }),
    clearState: (reply: FastifyReply, name: string, path: string) => void reply.clearCookie(name, ofState(path)),
    /** The path in front of ours, as the browser sees it. */
    basePath,
    /** Whether the browser sent two token cookies; no page of ours sets a second. */
    isTwice,
    /** What the one token cookie holds that the browser sent; undefined where it sent none or two. */
    token: (request: FastifyRequest): string | undefined =>
      isTwice(request) ? undefined : request.server.parseCookie(request.headers.cookie ?? '')[tokenName] || undefined,
    /** Whether the browser sent a token cookie, usable or not. */
    hasToken: (request: FastifyRequest): boolean =>
      isTwice(request) || Boolean(request.server.parseCookie(request.headers.cookie ?? '')[tokenName]),
    /** The state cookies that the browser brought back, by name; undefined of one that came twice, which is somebody else's doing. */
    states: ({ headers: { cookie = '' }, server }: FastifyRequest): ReadonlyMap<string, string | undefined> =>
      new Map(
        Object.entries(server.parseCookie(cookie))
          .filter(([name, value]) => name.startsWith(`${stateName}_`) && value)
          .map(([name, value]) => [name, pairs(cookie, name) === 1 ? value : undefined]),
      ),
    /** What `setRefused` gave the browser. */
    refused: ({ headers: { cookie = '' }, server }: FastifyRequest): string | undefined =>
      server.parseCookie(cookie)[stateName],
  }
}

export type CookieJar = ReturnType<typeof cookieJar>

/** How often a Cookie header names a cookie; the parser shows only one. */
export const pairs = (header: string, name: string): number =>
  header.split(';').filter((pair) => pair.split('=', 1)[0]!.trim() === name).length
