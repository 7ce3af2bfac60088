import { type Clock, withTimeout } from '../../base/clock.ts'
import type { InstanceServices } from '../../http/services/instance.ts'
import type { LedgerState } from '../../ledger/ledger-keeper.ts'
import { resources } from '../../projections/all.ts'
import type { Stores } from '../stores/stores.ts'

/** Timeout in ms of the readiness checks. A check without an answer by then fails. */
const PATIENCE_MS = 1000

/** Status of the check of the ledger. It never makes an instance unready. */
const LEDGER = { ok: 'ok', building: 'degraded', suspended: 'failed', diverged: 'failed' } as const

/**
 * Readiness checks. An unavailable queue, unavailable views on servers, a full disk and unreadable documents degrade an
 * instance, but it stays ready.
 */
export const readinessOf = (
  clock: Clock,
  { log, views, queue, alone, sharing, full, renewal }: Stores,
  draining: () => boolean,
  fresh: () => boolean,
  readable: () => boolean,
  caughtUp: () => Promise<boolean>,
  ledgerState: () => LedgerState,
): InstanceServices['readiness'] => {
  const holds = (work: Promise<boolean>): Promise<boolean> => {
    const done = work.catch(() => false)
    return withTimeout(clock, PATIENCE_MS, done, () => false)
  }
  const works = (work: Promise<unknown>): Promise<boolean> => holds(work.then(() => true))
  const status = (good: boolean, bad: 'failed' | 'degraded') => (good ? 'ok' : bad)
  return async () => {
    const reach = [works(log.head()), works(views.checkpoint(resources[0]!)), works(queue.runs()), holds(caughtUp())]
    const [store, viewed, jobs, whole] = (await Promise.all(reach)) as [boolean, boolean, boolean, boolean]
    const renewed = renewal?.isWhole() === false
    const checks = [
      { name: 'log', status: status(store, 'failed') },
      {
        name: 'views',
        status: status(whole && viewed && !renewed, !whole || (alone && !renewed) ? 'failed' : 'degraded'),
      },
      { name: 'storage', status: status(!full(), 'degraded') },
      { name: 'events', status: status(readable(), 'degraded') },
      { name: 'queue', status: status(jobs && sharing(), 'degraded') },
      { name: 'freshness', status: status(fresh(), 'failed') },
      { name: 'listener', status: status(!draining(), 'failed') },
    ] as const
    const ready = checks.every((check) => check.status !== 'failed')
    return { ready, checks: [...checks, { name: 'ledger', status: LEDGER[ledgerState()] }] }
  }
}
