import type { FastifyReply, FastifyRequest } from 'fastify'
import { EVERYWHERE, isKey } from '../../access/grants.ts'
import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import { type Refusal, whyOf } from '../../base/errors.ts'
import { CLIENT_TOKEN } from '../../base/token-form.ts'
import type { Refused } from '../../jobs/refusals.ts'
import { addressKey } from '../memory/address-key.ts'
import type { AuthServices } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'

/** Token of a refused request; `provider` is set if a login issued it. */
type RefusedToken = { readonly id?: string | undefined; readonly provider?: string | undefined }

/** True for `*`, and for a text that can be the key of a namespace. Any other text is not recorded. */
const isPlace = (text: string): boolean => text === EVERYWHERE || (isKey(text) && !CLIENT_TOKEN.test(text))

/** The refused request, as the history records it. */
const refusedOf = (request: FastifyRequest, { reason, metadata }: Refusal): Refused => {
  const { right, namespaceKey: namespace } = metadata
  return {
    reason,
    route: request.spec?.url ?? '',
    requestId: request.id,
    network: addressKey(request.address),
    ...(right !== undefined && { right }),
    ...(namespace !== undefined && { namespace: isPlace(namespace) ? namespace : '?' }),
  }
}

/**
 * Records a refusal in metrics and history, and returns it. A cause in the table of api.md §5.5 is also logged.
 * Repetitions that the history only counts are not logged, because a client can cause them at will. A refusal because
 * this instance is behind (`auth_stale`) is no failure of the client: only the metrics count it.
 */
export const refusalNotes =
  ({ metrics, refusals, lines: { tell } }: LoginServices) =>
  (request: FastifyRequest, refusal: Refusal, { id: tokenId, provider }: RefusedToken = {}): Refusal => {
    const { reason } = refusal
    metrics.authDecisions('refused', reason, '').value++
    if (reason === 'auth_stale') return refusal
    const refused = refusedOf(request, refusal)
    const { route } = refused
    const singly = refusals.note({ ...refused, ...(tokenId && { tokenId }) })
    const { fault: cause, change } = refusalDetailsOf(refusal)
    if (singly && cause) {
      const record = { requestId: request.id, route, tokenId, provider, reason, cause, why: whyOf(refusal), change }
      tell(record, 'a session was refused')
    }
    return refusal
  }

/**
 * Records a refusal whose credential was a token of this installation with that token. The token is looked up after the
 * answer, so the answer does not depend on it.
 */
export const formerTokenNotes =
  ({ refusals, formerTokens, clock }: CommandServices & AuthServices & LoginServices) =>
  (request: FastifyRequest, reply: FastifyReply, refusal: Refusal, secret: string): void => {
    const [refused, refusedAt] = [refusedOf(request, refusal), clock.now()]
    reply.raw.once('close', () => {
      formerTokens
        .idOf(secret)
        .then((tokenId) => tokenId && refusals.identify({ ...refused, tokenId }, refusedAt))
        .catch((error: unknown) => reply.raw.emit('error', error))
    })
  }
