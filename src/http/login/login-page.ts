import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Identity } from '../../auth/identity.ts'
import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import type { RefusedLogin } from '../../auth/sealed.ts'
import type { Reason, Refusal } from '../../base/errors.ts'
import type { LoginKind } from '../../events/login.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginMethod, LoginService } from '../services/logins.ts'
import { takes } from '../wire/headers.ts'
import { returnToOf } from './held-logins.ts'
import { attemptTurnedAway } from './login-attempts.ts'

/** Lifetime (ms) and maximum text length of the data for the page. */
const LIFE_MS = 300_000
const MOST = 256
const OF_PERSON: readonly Reason[] = ['no_grant', 'email_not_allowed', 'membership_required']

/** True for a speculative request of a browser (`Sec-Purpose: prefetch`). */
export const isAhead = ({ headers }: FastifyRequest): boolean =>
  /\bprefetch\b/.test(String(headers['sec-purpose'] ?? headers['purpose'] ?? ''))

/** True if a callback comes from a browser and the web UI is enabled. */
export const isPerson = ({ settings }: CommandServices, { headers }: FastifyRequest): boolean =>
  settings.ui.enabled && takes(headers, 'text/html')

/** Error code for the login page: the provider's own, if any, and `not_found` for an unknown route. */
const shownOf = ({ reason, metadata }: Refusal): string => {
  if (reason === 'provider_error') return metadata['error'] ?? reason
  return reason === 'route_not_found' ? 'not_found' : reason
}

/**
 * URL of the page that shows the failure of a login, for any cause (api.md §5.5). A 404 for an unknown or disabled
 * method is recorded here, because no other code records it.
 */
export const loginPage =
  (service: LoginService, method: LoginKind) =>
  (refusal: Refusal, request: FastifyRequest): string | undefined => {
    if (!isPerson(service, request) || isAhead(request)) return undefined
    if (refusal.status === 404) attemptTurnedAway(service, request, { method }, refusal)
    const path = returnToOf(service, request)
    const query = { error: shownOf(refusal), ref: request.id, ...(path !== undefined && { return_to: path }) }
    return `${service.cookies.basePath(request)}/login?${new URLSearchParams(query).toString()}`
  }

const short = (text: string | undefined): string | undefined => text && Array.from(text).slice(0, MOST).join('')

/**
 * Stores the provider's identity of a refused login in a cookie, for the login page (api.md §5.5). The cookie is set
 * only for refusals that depend on the person.
 */
export const rememberRefused = (
  { cookies, logins, now }: LoginService,
  request: FastifyRequest,
  reply: FastifyReply,
  { method }: LoginMethod,
  { attributes }: Identity,
  refusal: Refusal,
): void => {
  if (!OF_PERSON.includes(refusal.reason)) return
  const { fault } = refusalDetailsOf(refusal)
  const [name, email, login] = ['name', 'email', `${method}.preferred_username`].map((key) => short(attributes[key]))
  const refused: RefusedLogin = {
    requestId: request.id,
    ...(fault && { cause: fault }),
    ...(name && { name }),
    ...(email && { email }),
    ...(login && { login }),
    expiresAt: new Date(now().getTime() + LIFE_MS).toISOString(),
  }
  cookies.setRefused(request, reply, logins.refused.seal(refused), LIFE_MS)
}

/** Identity of the login refused in this browser in the last 5 minutes, if any. */
export const refusedLogin = (
  { cookies, logins, now }: LoginService,
  request: FastifyRequest,
): Omit<RefusedLogin, 'expiresAt'> | undefined => {
  const sealed = cookies.stored(request)
  const { expiresAt = '', ...refused } = (sealed === undefined ? undefined : logins.refused.open(sealed)) ?? {}
  return 'requestId' in refused && expiresAt > now().toISOString() ? refused : undefined
}
