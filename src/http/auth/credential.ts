import '@fastify/cookie'
import type { FastifyRequest } from 'fastify'
import { hasTokenForm } from '../../auth/client-token.ts'
import { refuse } from '../../base/errors.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'
import { pairs } from '../wire/cookies.ts'
import { times } from '../wire/framing.ts'

/**
 * Credential that a request has. If `token` is missing, the credential is malformed. The route decides whether it
 * refuses a malformed credential.
 */
export type GivenCredential = { readonly kind: 'bearer' | 'cookie'; readonly token?: string }
/** Credential of a request (api.md §3.1). */
export type Credential = { readonly kind: 'none' } | GivenCredential

const nothing: Credential = { kind: 'none' }
const unusable: Credential = { kind: 'bearer' }
const bearer = /^bearer +(.+)$/i

/**
 * Finds the credential of a request: the bearer header if it is present, even if it is invalid; otherwise the cookie.
 * Refuses two bearer headers or two cookies with 400 `duplicate_credential`.
 */
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
 * True if the request provably comes from the service's own pages or a trusted origin (api.md §3.5). Checked for unsafe
 * methods with a cookie credential. Without `Origin` and `Sec-Fetch-Site` it returns false.
 */
export const sameOrigin =
  ({ publicUrl, trustedOrigins }: OriginSettings) =>
  (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers
    if (site === 'same-origin' || site === 'none') return true
    if (origin === undefined || origin === 'null') return false
    return origin === originOf(publicUrl ?? `${request.protocol}://${request.host}`) || trustedOrigins.includes(origin)
  }

const FOREIGN_PAGE =
  'a write of a web page is refused, because the page is not at the address of this service; set server.public_url to the address that browsers use; if the page is another one of yours, add its origin to authentication.session.csrf.trusted_origins, or for requests without a cookie to cors.allowed_origins'

/** Logs a request that is refused as one of a foreign page, with the addresses that were compared. */
export const tellForeignPage = (
  { lines, settings }: Pick<LoginServices, 'lines'> & Pick<CommandServices, 'settings'>,
  { id: requestId, headers: { origin }, protocol, host }: FastifyRequest,
): void => {
  const [page, own] = [origin, host].map((text) => text?.slice(0, 255) ?? 'none')
  const record = { requestId, origin: page, protocol, host: own, publicUrl: settings.publicUrl ?? 'not set' }
  lines.warn('cross_site', record, FOREIGN_PAGE)
}

/**
 * True if browser headers show that a foreign page sent the request: not an own page, and not a trusted or allowed
 * origin (api.md §3.5). An entry `*` allows requests that write nothing. False for a request without browser headers.
 */
export const foreignPage = (isOwnPage: (request: FastifyRequest) => boolean, allowedOrigins: readonly string[]) => {
  const allowsAll = allowedOrigins.includes('*')
  return (request: FastifyRequest): boolean => {
    const { origin, 'sec-fetch-site': site } = request.headers
    if ((origin === undefined && site === undefined) || isOwnPage(request)) return false
    if (origin === undefined) return site === 'cross-site' || site === 'same-site'
    return !allowedOrigins.includes(origin) && !(allowsAll && !request.spec?.writes)
  }
}
