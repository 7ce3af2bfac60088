import type { FastifyRequest } from 'fastify'
import { providerErrorOf } from '../../auth/callback.ts'
import { Refusal, whyOf } from '../../errors.ts'
import { isLogin } from '../../events/login.ts'
import type { Method } from '../../events/token.ts'
import { addressKey } from './credential.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import type { Service } from '../service.ts'

/** Counts the requests of a public route by client, and refuses those past the limit (api.md §2.4). */
export const attemptLimit =
  ({ settings, refusals }: Service, attempts: Limiter) =>
  (request: FastifyRequest): Refusal | undefined => {
    const network = addressKey(request.address)
    if (settings.rateLimited && attempts.exhausted(network)) {
      refusals.note({ reason: 'rate_limited', route: request.spec?.url ?? '', requestId: request.id, network })
      return new Refusal('rate_limited', undefined, { headers: { 'retry-after': String(attempts.retryAfter()) } })
    }
    attempts.count(network)
    return undefined
  }

/** What is known of a login or an exchange; nothing of it is personal. */
export type Attempt = {
  readonly method: Exclude<Method, 'token'>
  readonly provider?: string | undefined
  readonly serviceAccount?: string | undefined
}
type Teller = Pick<Service, 'tell'>

const what = ({ method }: Attempt) => (isLogin(method) ? 'a login' : 'an exchange')

/** Logs a login or an exchange that gave a token. */
export const attemptSucceeded = (
  { tell }: Teller,
  { id: requestId }: FastifyRequest,
  attempt: Attempt,
  tokenId: string,
): void => {
  const { method, provider, serviceAccount } = attempt
  tell({ requestId, method, provider, serviceAccount, tokenId }, `${what(attempt)} succeeded`)
}

/** Logs a login or an exchange that failed, with the cause that the client does not see. */
export const attemptRefused = (
  { tell }: Teller,
  { id: requestId }: FastifyRequest,
  attempt: Attempt,
  refusal: Refusal,
): void => {
  const { method, provider, serviceAccount } = attempt
  const record = { requestId, method, provider, serviceAccount, reason: refusal.reason }
  tell({ ...record, providerError: providerErrorOf(refusal), why: whyOf(refusal) }, `${what(attempt)} was refused`)
}

/** Keeps a failed login or exchange in history, and tells the operator. */
export const attemptFailed = (service: Service, request: FastifyRequest, attempt: Attempt, refusal: Refusal): void => {
  const { provider, serviceAccount } = attempt
  service.refusals.note({
    reason: refusal.reason,
    route: request.spec?.url ?? '',
    requestId: request.id,
    network: addressKey(request.address),
    ...(provider !== undefined && { provider }),
    ...(serviceAccount !== undefined && { serviceAccount }),
    attempt: true,
  })
  attemptRefused(service, request, attempt, refusal)
}
