import { within } from '../concurrency.ts'
import type { Service } from '../http/service.ts'
import { projections } from '../projections/all.ts'
import type { Stores } from './stores.ts'

/** Who asks whether this instance is ready gives up soon: what has not answered by then does not. */
const PATIENCE_MS = 1000

/** What an instance needs to take requests. A queue or views that are away, a full disk, and documents that cannot be read, do not keep it from answering. */
export const readinessOf = (
  { log, views, queue, alone, sharing, full }: Stores,
  draining: () => boolean,
  fresh: () => boolean,
  readable: () => boolean,
): Service['readiness'] => {
  const works = async (work: Promise<unknown>): Promise<boolean> => {
    const done = work.then(
      () => true,
      () => false,
    )
    return within(PATIENCE_MS, done, () => false)
  }
  const status = (good: boolean, bad: 'failed' | 'degraded') => (good ? 'ok' : bad)
  return async () => {
    const reach = [works(log.head()), works(views.checkpoint(projections[0]!)), works(queue.runs())]
    const [store, viewed, jobs] = (await Promise.all(reach)) as [boolean, boolean, boolean]
    const checks = [
      { name: 'log', status: status(store, 'failed') },
      { name: 'views', status: status(viewed, alone ? 'failed' : 'degraded') },
      { name: 'storage', status: status(!full(), 'degraded') },
      { name: 'events', status: status(readable(), 'degraded') },
      { name: 'queue', status: status(jobs && sharing(), 'degraded') },
      { name: 'freshness', status: status(fresh(), 'failed') },
      { name: 'listener', status: status(!draining(), 'failed') },
    ] as const
    return { ready: checks.every((check) => check.status !== 'failed'), checks }
  }
}
