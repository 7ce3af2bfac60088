import { whyOf } from '../../base/errors.ts'
import { unreadableOf } from '../../events/unreadable.ts'
import type { HistogramCell } from '../metrics/metrics.ts'
import type { Spec } from '../route/route.ts'
import type { InstanceServices } from '../services/instance.ts'
import type { TokenServices } from '../services/tokens.ts'
import type { Answered } from '../wire/reply.ts'

type Log = { readonly info: (record: object, message: string) => void }

/**
 * Counts every answer. Logs all writes with the reason of a refusal, and every answer with
 * status 500 or above with its cause. Evaluations and other reads below 500 are not logged.
 */
export const observer = (
  { metrics, closed, clock }: Pick<InstanceServices, 'metrics' | 'clock'> & Pick<TokenServices, 'closed'>,
  log: Log,
): Answered => {
  const { monotonic } = clock
  const errors = metrics.serverErrors()
  const usual = new WeakMap<Spec, HistogramCell>()
  const cellOf = (spec: Spec | undefined, method: string, status: number): HistogramCell => {
    const known = spec && status === 200 && method === spec.method ? usual.get(spec) : undefined
    if (known) return known
    const cell = metrics.requestDuration(spec?.url ?? '', method, String(status))
    if (spec && status === 200 && method === spec.method) usual.set(spec, cell)
    return cell
  }
  return (request, { statusCode }, refusal): void => {
    const { spec, method, began } = request
    const ms = monotonic() - began
    cellOf(spec, method, statusCode).observe(ms / 1000)
    if ((refusal?.status ?? statusCode) >= 500) errors.value++
    const event = refusal && unreadableOf(refusal)
    if (event) closed.note(event)
    if (statusCode < 500 && !spec?.writes) return
    const actor = request.caller?.actor
    const record = {
      requestId: request.id,
      traceId: request.raw.traceId,
      method,
      route: spec?.url ?? '',
      status: statusCode,
      ms: Math.round(ms * 10) / 10,
    }
    const why = statusCode >= 500 ? whyOf(refusal) : undefined
    log.info({ ...record, actor: actor?.id ?? actor?.kind, reason: refusal?.reason, why }, 'answered')
  }
}
