import type { Queue } from 'bullmq'
import { type Clock, withTimeout } from '../../base/clock.ts'
import type { Job } from '../../jobs/queue.ts'
import { type Client, type Health, PATIENCE_MS } from './connection.ts'
import type { LastRuns } from './queue-runs.ts'

/**
 * Retry settings. A run interrupted by the shutdown of its instance is retried by another instance at once; a failed
 * run waits for the next interval.
 */
const retries = {
  attempts: 5,
  backoff: { type: 'fixed', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: { count: 10 },
} as const
/**
 * Options of a run that an instance requests because the scheduler produced none after the run that started at
 * `startedAt`. The id is kept after completion, so that requests of several instances produce one run.
 */
export const missedTurn = (name: string, startedAt = 0) => ({
  ...retries,
  removeOnComplete: { count: 10 },
  jobId: `missed-${name}-${startedAt}`,
})
/** Time in ms without an answer after which the connection is replaced. */
const UNANSWERED_MS = 5000

type ViewParts = {
  readonly clock: Clock
  readonly client: Client
  readonly runs: LastRuns
  readonly health: Health
}

const SILENT = new Error('Redis does not answer')
const silent = (): never => {
  throw SILENT
}

/**
 * Returns the answer of Redis. If Redis refuses the command or does not answer in time, reports this to `failed` and
 * returns undefined.
 */
export const heard = async <T>(
  clock: Clock,
  work: Promise<T>,
  { failed }: Pick<Health, 'failed'>,
): Promise<T | undefined> => {
  try {
    return await withTimeout(clock, PATIENCE_MS, work, silent)
  } catch (error) {
    failed(error)
    return undefined
  }
}

/**
 * Queries Redis about a job, one query at a time: its running state and last start. Also ensures that the job is
 * scheduled.
 */
export const redisView = ({ name, every }: Job, queue: Queue, { clock, client, runs, health }: ViewParts) => {
  type Seen = { readonly runs: boolean; readonly startedAt: number | undefined }
  let looking: Promise<Seen> | undefined
  let lookedAt = 0
  let settled = false

  /** Returns true if a live worker has the job. A dead worker's job is active too, but has no lock. */
  const isHeld = async (): Promise<boolean> => {
    const ids = await client.lrange(queue.toKey('active'), 0, -1)
    const locks = await Promise.all(ids.map((id) => client.exists(queue.toKey(`${id}:lock`))))
    return locks.includes(1)
  }

  const look = async (): Promise<Seen> => {
    const [scheduler, held, last] = await Promise.all([queue.getJobScheduler(name), isHeld(), runs.find(name)])
    // Each instance sets the interval at most once; otherwise two instances with different settings would overwrite
    // each other for ever.
    if (!scheduler || (!settled && scheduler.every !== every)) {
      await queue.setGlobalConcurrency(1)
      await queue.upsertJobScheduler(name, { every }, { name, opts: retries })
    }
    settled = true
    health.worked()
    return { runs: held, startedAt: last?.startedAt }
  }

  /** The value is undefined if Redis does not answer. */
  return async (): Promise<Seen | undefined> => {
    if (!looking) {
      lookedAt = clock.monotonic()
      looking = look().finally(() => (looking = undefined))
    } else if (clock.monotonic() - lookedAt > UNANSWERED_MS && client.status === 'ready') {
      lookedAt = clock.monotonic()
      client.disconnect(true)
    }
    return heard(clock, looking, health)
  }
}
