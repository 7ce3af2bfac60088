import type { Clock } from '../../clock.ts'
import { refuse } from '../../errors.ts'
import type { Job, Queue } from '../../jobs/queue.ts'
import { type RedisPlace } from './address.ts'
import { connectRedis, familyOf, type Health, keysOf, PREFIX } from './connection.ts'
import { bullmqJob } from './queue-job.ts'
import { lastRuns } from './queue-runs.ts'

export type BullmqOptions = {
  readonly clock: Clock
  /** Told of every run of a job that failed here. */
  readonly onError: (job: string, error: unknown) => void
  readonly health: Health
  /** What all keys in Redis begin with, in braces, so that they lie on one node of a cluster; instances share their jobs under the same. */
  readonly prefix?: string
  /** Milliseconds beyond its interval after which a job counts as forgotten and is run here. */
  readonly grace?: number
}

/**
 * Jobs in BullMQ, each once an interval over all instances. Redis only says when: it may be away, lose everything or hang, and jobs
 * still run, in every instance then, and beside a run that began so, which is harmless. Nothing here waits for it; `close` waits for running jobs and two seconds at most for Redis.
 */
export const openBullmq = async (
  place: RedisPlace,
  { clock, onError, health, prefix: word = PREFIX, grace = 3000 }: BullmqOptions,
): Promise<Queue> => {
  const stop = new AbortController()
  /** What ends by itself is no fault. */
  const failed = (error: unknown) => {
    if (!stop.signal.aborted) health.failed(error)
  }
  const telling: Health = { failed, worked: health.worked }
  const client = connectRedis(place, true, telling)
  const disconnect = familyOf(client)
  const prefix = keysOf(word)
  const runs = lastRuns(client, clock, `${prefix}:runs`, failed)
  const jobs = new Map<string, ReturnType<typeof bullmqJob>>()
  let closing: Promise<void> | undefined

  const close = async () => {
    stop.abort()
    await Promise.all(Array.from(jobs.values(), (job) => job.close()))
    disconnect()
  }

  return {
    schedule: async (job: Job) => {
      if (stop.signal.aborted) refuse('backend_unavailable')
      if (jobs.has(job.name)) throw new Error(`job ${job.name} is scheduled already`)
      jobs.set(
        job.name,
        bullmqJob(job, { clock, client, prefix, runs, signal: stop.signal, grace, onError, health: telling }),
      )
    },
    runs: runs.all,
    close: () => (closing ??= close()),
  }
}
