import type { Queue } from 'bullmq'
import { type Clock, withTimeout } from '../../base/clock.ts'
import type { Job, Run } from '../../jobs/queue.ts'
import { type Client, type Health, PATIENCE_MS, soon } from './connection.ts'

const isRun = (value: unknown): value is Run =>
  typeof value === 'object' && value !== null && 'name' in value && 'startedAt' in value

const parse = (text: string): Run | undefined => {
  const value: unknown = JSON.parse(text)
  return isRun(value) ? value : undefined
}

/** The later of two runs of a job; for the same run, the finished state. */
const later = (a: Run, b: Run): Run => {
  if (a.startedAt !== b.startedAt) return a.startedAt > b.startedAt ? a : b
  return a.finishedAt === undefined ? b : a
}

/** Minimum interval in ms between progress updates of a run. */
const PROGRESS_MS = 1000

/**
 * Last run of each job. Redis stores the runs of all instances. Memory stores the runs of this instance, for outages of
 * Redis.
 */
export const lastRuns = (client: Client, clock: Clock, key: string, onError: (error: unknown) => void) => {
  const own = new Map<string, Run>()
  const sentAt = new Map<string, number>()
  /**
   * Stores a run without waiting for Redis. If Redis is unavailable, other instances do not see the run and run the job
   * themselves.
   */
  const note = (run: Run): void => {
    own.set(run.name, run)
    if (client.status === 'ready') client.hset(key, run.name, JSON.stringify(run)).catch(onError)
  }
  return {
    note,
    /**
     * Records progress, and sends it to Redis at most once a second; returns true if it was sent. The end of the run
     * sends the final progress.
     */
    noteProgress: (run: Run): boolean => {
      own.set(run.name, run)
      if (clock.monotonic() - (sentAt.get(run.name) ?? Number.NEGATIVE_INFINITY) < PROGRESS_MS) return false
      sentAt.set(run.name, clock.monotonic())
      note(run)
      return client.status === 'ready'
    },
    find: async (name: string): Promise<Run | undefined> => {
      const text = await client.hget(key, name)
      return text === null ? undefined : parse(text)
    },
    all: async (): Promise<readonly Run[]> => {
      const texts = client.status === 'ready' ? await soon(clock, client.hgetall(key)) : undefined
      const runs = new Map(own)
      for (const run of Object.values(texts ?? {}).map(parse)) {
        if (run) runs.set(run.name, later(run, runs.get(run.name) ?? run))
      }
      return [...runs.values()]
    },
  }
}

export type LastRuns = ReturnType<typeof lastRuns>

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
