import type { FastifyRequest } from 'fastify'
import { refusalDetailsOf } from '../../auth/refusal-details.ts'
import { type Refusal, whyOf } from '../../errors.ts'
import type { RecordingServices } from '../services/recording.ts'
import { addressKey } from '../wire/client-address.ts'

/** Token of a refused request; `provider` if a login issued it. */
type RefusedToken = { readonly id?: string | undefined; readonly provider?: string | undefined }

/**
 * Records a refusal in metrics and history, and returns it. A cause in the table of api.md §5.5 is also logged.
 * Repetitions that the history only counts are not logged, because a client can cause them at will.
 */
export const refusalNotes =
  ({ metrics, refusals, tell }: RecordingServices) =>
  (request: FastifyRequest, refusal: Refusal, { id: tokenId, provider }: RefusedToken = {}): Refusal => {
    const { reason } = refusal
    metrics.authDecisions('refused', reason, '').value++
    const { right, namespaceKey: namespace } = refusal.metadata
    const route = request.spec?.url ?? ''
    const singly = refusals.note({
      reason,
      route,
      requestId: request.id,
      network: addressKey(request.address),
      ...(tokenId && { tokenId }),
      ...(right !== undefined && { right }),
      ...(namespace !== undefined && { namespace }),
    })
    const { fault: cause, change } = refusalDetailsOf(refusal)
    if (singly && cause) {
      const record = { requestId: request.id, route, tokenId, provider, reason, cause, why: whyOf(refusal), change }
      tell(record, 'a session was refused')
    }
    return refusal
  }
