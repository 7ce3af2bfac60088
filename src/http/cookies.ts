import '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Names and attributes of the two cookies (api.md §3.4). `domain` is without scheme and port. */
export type CookieSettings = {
  readonly tokenName: string
  readonly stateName: string
  readonly domain?: string | undefined
  readonly secure: boolean
  readonly publicUrl?: string | undefined
  readonly trustProxy: boolean | readonly string[]
}

const plainPrefix = /^(?:\/[A-Za-z0-9._~-]+)*$/

/** The path that the outside world sees in front of ours, `''` for none: a trusted proxy's `X-Forwarded-Prefix`, then the path of the public URL. */
export const basePath = (request: FastifyRequest, { publicUrl, trustProxy }: Pick<CookieSettings, 'publicUrl' | 'trustProxy'>): string => {
  const own = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
  const prefix = request.headers['x-forwarded-prefix']
  const believed = trustProxy === true || (request.ips?.length ?? 0) > 1
  return believed && typeof prefix === 'string' && plainPrefix.test(prefix) ? prefix + own : own
}

/** Sets and clears the token cookie and the state cookie. Lives are seconds; `path` of the state cookie is the path of the redirect address. */
export const cookieJar = (settings: CookieSettings) => {
  const { tokenName, stateName, domain, secure } = settings
  const shared = { httpOnly: true, secure, ...(domain === undefined || domain === 'localhost' ? {} : { domain }) }
  const ofToken = (request: FastifyRequest) => ({ ...shared, sameSite: 'strict', path: basePath(request, settings) || '/' }) as const
  const ofState = (path: string) => ({ ...shared, sameSite: 'lax', path }) as const
  const lasting = (seconds: number) => ({ maxAge: seconds, expires: new Date(Date.now() + seconds * 1000) })
  return {
    setToken: (request: FastifyRequest, reply: FastifyReply, token: string, seconds: number) =>
      void reply.setCookie(tokenName, token, { ...ofToken(request), ...lasting(seconds) }),
    clearToken: (request: FastifyRequest, reply: FastifyReply) => void reply.clearCookie(tokenName, ofToken(request)),
    setState: (reply: FastifyReply, state: string, path: string, seconds: number) =>
      void reply.setCookie(stateName, state, { ...ofState(path), ...lasting(seconds) }),
    clearState: (reply: FastifyReply, path: string) => void reply.clearCookie(stateName, ofState(path)),
    /** The login state that the browser brought back. */
    state: (request: FastifyRequest): string | undefined => {
      const header = request.headers.cookie
      return (header === undefined ? undefined : request.server.parseCookie(header)[stateName]) || undefined
    },
  }
}

export type CookieJar = ReturnType<typeof cookieJar>
