import type { FastifyRequest } from 'fastify'
import { Refusal } from '../errors.ts'
import { addressKey } from './credential.ts'
import type { Limiter } from './limits.ts'
import type { Service } from './service.ts'

/** Counts the requests of a public route by client, and refuses those past the limit (api.md §2.4). */
export const attemptLimit =
  ({ settings, refusals }: Service, attempts: Limiter) =>
  (request: FastifyRequest): Refusal | undefined => {
    const network = addressKey(request.ip)
    if (settings.rateLimited && attempts.exhausted(network)) {
      refusals.note({ reason: 'rate_limited', route: request.spec?.url ?? '', requestId: request.id, network })
      return new Refusal('rate_limited', undefined, { headers: { 'retry-after': String(attempts.retryAfter()) } })
    }
    attempts.count(network)
    return undefined
  }

type Known = { readonly provider?: string | undefined; readonly serviceAccount?: string | undefined }

/** Keeps a failed login or exchange in history, and tells the operator what the client is not told. */
export const attemptFailed = (
  { refusals, warn }: Service,
  request: FastifyRequest,
  { reason, cause }: Refusal,
  { provider, serviceAccount }: Known,
): void => {
  const [route, requestId] = [request.spec?.url ?? '', request.id]
  refusals.note({
    reason,
    route,
    requestId,
    network: addressKey(request.ip),
    ...(provider !== undefined && { provider }),
    ...(serviceAccount !== undefined && { serviceAccount }),
    attempt: true,
  })
  if (cause instanceof Error) warn({ requestId, route, provider, reason, why: cause.message }, 'a login or an exchange failed')
}
