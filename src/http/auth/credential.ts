import '@fastify/cookie'
import type { FastifyRequest } from 'fastify'
import { hasTokenForm } from '../../auth/client-token.ts'
import { refuse } from '../../errors.ts'
import { pairs } from '../wire/cookies.ts'
import { times } from '../wire/framing.ts'

/** What a request presents (api.md §3.1). Without a token it is unusable, whatever it is; whether that matters is the route group's rule. */
export type Credential = { readonly kind: 'none' } | { readonly kind: 'bearer' | 'cookie'; readonly token?: string }

const nothing: Credential = { kind: 'none' }
const unusable: Credential = { kind: 'bearer' }
const bearer = /^bearer +(.+)$/i

/** Finds the credential: the bearer header, which hides the cookie even when it is unusable, else the cookie. Two of a kind: 400 `duplicate_credential`. */
export const credential = ({ raw, server }: FastifyRequest, cookieName: string): Credential => {
  const { authorization, cookie } = raw.headers
  if (authorization === undefined && cookie === undefined) return nothing
  if (authorization !== undefined && times(raw.rawHeaders, 'authorization') > 1) refuse('duplicate_credential')
  const twice = cookie !== undefined && pairs(cookie, cookieName) > 1
  if (twice) refuse('duplicate_credential')
  if (authorization !== undefined) {
    const token = bearer.exec(authorization)?.[1]
    return token !== undefined && hasTokenForm(token) ? { kind: 'bearer', token } : unusable
  }
  const token = cookie === undefined ? undefined : server.parseCookie(cookie)[cookieName]
  if (token === undefined || token === '') return nothing
  return hasTokenForm(token) ? { kind: 'cookie', token } : { kind: 'cookie' }
}

type OriginSettings = { readonly publicUrl?: string | undefined; readonly trustedOrigins: readonly string[] }

const originOf = (url: string): string | undefined => {
  try {
    return new URL(url).origin
  } catch {
    return undefined
  }
}

/**
 * Whether a request proves that it comes from our own pages or a trusted origin (api.md §3.5). Asked of unsafe methods
 * with the credential in a cookie. A request without either header proves nothing.
 */
export const sameOrigin =
  ({ publicUrl, trustedOrigins }: OriginSettings) =>
  (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers
    if (site === 'same-origin' || site === 'none') return true
    if (origin === undefined || origin === 'null') return false
    return origin === originOf(publicUrl ?? `${request.protocol}://${request.host}`) || trustedOrigins.includes(origin)
  }

/**
 * Whether a browser says that a foreign page sent this: neither ours, nor of a trusted or an allowed origin (api.md
 * §3.5). `*` allows what writes nothing. False for what no browser sent.
 */
export const foreignPage = (ours: (request: FastifyRequest) => boolean, allowedOrigins: readonly string[]) => {
  const everybody = allowedOrigins.includes('*')
  return (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers
    if ((origin === undefined && site === undefined) || ours(request)) return false
    if (origin === undefined) return site === 'cross-site' || site === 'same-site'
    return !allowedOrigins.includes(origin) && !(everybody && !request.spec?.writes)
  }
}
