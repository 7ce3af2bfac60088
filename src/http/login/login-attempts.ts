import type { FastifyRequest } from 'fastify'
import { providerErrorOf } from '../../auth/oidc/callback.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import { Refusal, whyOf } from '../../base/errors.ts'
import type { Method } from '../../events/token.ts'
import { addressKey } from '../memory/address-key.ts'
import type { LoginService, LoginServices } from '../services/logins.ts'
import { heldLogin } from './held-logins.ts'

/** Facts about a login or exchange for log and history, without personal data. */
type Attempt = {
  readonly method: Exclude<Method, 'token'>
  readonly provider?: string | undefined
  readonly serviceAccount?: string | undefined
  /** True for a logout token of the provider. */
  readonly isLogout?: true
}
type Teller = Pick<LoginServices, 'lines'>

const nameOf = ({ method, isLogout }: Attempt) =>
  isLogout ? 'a logout token' : method === 'orchestrator' ? 'an exchange' : 'a login'

/** Logs a successful login or exchange. */
export const attemptSucceeded = (
  { lines: { tell } }: Teller,
  { id: requestId }: FastifyRequest,
  attempt: Attempt,
  tokenId: string,
): void => {
  const { method, provider, serviceAccount } = attempt
  tell({ requestId, method, provider, serviceAccount, tokenId }, `${nameOf(attempt)} succeeded`)
}

/** Logs a failed login or exchange, with the cause that the client does not receive. */
export const attemptRefused = (
  { lines: { tell } }: Teller,
  { id: requestId }: FastifyRequest,
  attempt: Attempt,
  refusal: Refusal,
): void => {
  const { method, provider, serviceAccount } = attempt
  const record = { requestId, method, provider, serviceAccount, reason: refusal.reason }
  const { fault: cause, change, providerSays } = refusalDetailsOf(refusal)
  const details = { cause, providerError: providerErrorOf(refusal), providerSays, why: whyOf(refusal), change }
  tell({ ...record, ...details }, `${nameOf(attempt)} was refused`)
}

const noted = (
  { refusals }: LoginServices,
  request: FastifyRequest,
  { provider, serviceAccount }: Attempt,
  { reason }: Refusal,
) =>
  refusals.note({
    reason,
    route: request.spec?.url ?? '',
    requestId: request.id,
    network: addressKey(request.address),
    ...(provider !== undefined && { provider }),
    ...(serviceAccount !== undefined && { serviceAccount }),
    attempt: true,
  })

/** Records a failed login or exchange in the history and logs it. */
export const attemptFailed = (
  service: LoginServices,
  request: FastifyRequest,
  attempt: Attempt,
  refusal: Refusal,
): void => {
  noted(service, request, attempt, refusal)
  attemptRefused(service, request, attempt, refusal)
}

/**
 * Like `attemptFailed`, for failures that any client can repeat at will: logs only those that the history records
 * individually.
 */
export const attemptTurnedAway = (
  service: LoginServices,
  request: FastifyRequest,
  attempt: Attempt,
  refusal: Refusal,
): void => {
  if (noted(service, request, attempt, refusal)) attemptRefused(service, request, attempt, refusal)
}

/** Refuses a request if its key has exhausted its limit (api.md §2.4). */
export const turnedAway = (
  service: LoginService,
  request: FastifyRequest,
  attempt: Attempt,
  limiter: Limiter,
  key: string,
): Refusal | undefined => {
  if (!service.settings.rateLimited || !limiter.exhausted(key)) return undefined
  const headers = { 'retry-after': String(limiter.retryAfter()) }
  const refusal = new Refusal('rate_limited', undefined, { headers })
  attemptTurnedAway(service, request, attempt, refusal)
  return refusal
}

const counted = (service: LoginService, request: FastifyRequest, attempt: Attempt, limiter: Limiter, key: string) => {
  const refusal = turnedAway(service, request, attempt, limiter, key)
  if (!refusal) limiter.count(key)
  return refusal
}

/** Counts the requests of each client address to a public route, and refuses requests beyond the limit. */
export const attemptLimit =
  (service: LoginService, attempts: Limiter, attempt: Attempt) =>
  (request: FastifyRequest): Refusal | undefined =>
    counted(service, request, attempt, attempts, addressKey(request.address))

/** Like `attemptLimit`, for callbacks: a callback of a pending login of this browser counts against that login. */
export const returnLimit =
  (service: LoginService, attempt: Attempt) =>
  (request: FastifyRequest): Refusal | undefined => {
    const { attempts, returns } = service.logins
    const held = heldLogin(service, request)
    const isPending = held !== undefined && held.login.expiresAt > service.now().toISOString()
    return isPending
      ? counted(service, request, attempt, returns, held.id)
      : counted(service, request, attempt, attempts, addressKey(request.address))
  }
