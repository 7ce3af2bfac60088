import type { Queue } from 'bullmq'
import { type Clock, withTimeout } from '../../clock.ts'
import type { Job } from '../../jobs/queue.ts'
import { type Client, type Health, PATIENCE_MS } from './connection.ts'
import type { LastRuns } from './queue-runs.ts'

/** What an instance cut short by its own end is taken over by another at once; what fails is not tried before the next interval. */
export const retries = {
  attempts: 5,
  backoff: { type: 'fixed', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: { count: 10 },
} as const
/**
 * The turn that an instance asks for when the scheduler gave none after the run that began then. Its identifier outlasts it, so
 * that instances that ask one after the other have one run.
 */
export const missedTurn = (name: string, startedAt = 0) => ({
  ...retries,
  removeOnComplete: { count: 10 },
  jobId: `missed-${name}-${startedAt}`,
})
/** A connection that has not answered for so long is made anew. */
const DEAF_MS = 5000

export type ViewParts = {
  readonly clock: Clock
  readonly client: Client
  readonly runs: LastRuns
  readonly health: Health
}

const SILENT = new Error('Redis does not answer')
const silent = (): never => {
  throw SILENT
}

/** The answer of Redis, or undefined when it does not answer soon or refuses, which is told. */
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

/** Asks Redis about a job, one question at a time: whether it runs and began, and that it is scheduled at all. */
export const redisView = ({ name, every }: Job, queue: Queue, { clock, client, runs, health }: ViewParts) => {
  type Seen = { readonly runs: boolean; readonly startedAt: number | undefined }
  let looking: Promise<Seen> | undefined
  let asked = 0
  let settled = false

  /** Whether a worker that is alive has the job: one that died holds it as well, without its lock. */
  const isHeld = async (): Promise<boolean> => {
    const ids = await client.lrange(queue.toKey('active'), 0, -1)
    const locks = await Promise.all(ids.map((id) => client.exists(queue.toKey(`${id}:lock`))))
    return locks.includes(1)
  }

  const look = async (): Promise<Seen> => {
    const [scheduler, held, last] = await Promise.all([queue.getJobScheduler(name), isHeld(), runs.find(name)])
    // Who was configured last says the interval, once: two that differ would each make the other's anew for ever.
    if (!scheduler || (!settled && scheduler.every !== every)) {
      await queue.setGlobalConcurrency(1)
      await queue.upsertJobScheduler(name, { every }, { name, opts: retries })
    }
    settled = true
    health.worked()
    return { runs: held, startedAt: last?.startedAt }
  }

  /** Undefined when Redis does not answer. */
  return async (): Promise<Seen | undefined> => {
    if (!looking) {
      asked = clock.monotonic()
      looking = look().finally(() => (looking = undefined))
    } else if (clock.monotonic() - asked > DEAF_MS && client.status === 'ready') {
      asked = clock.monotonic()
      client.disconnect(true)
    }
    return heard(clock, looking, health)
  }
}
