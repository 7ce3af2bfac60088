import type { Clock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import type { Job, Queue } from '../../jobs/queue.ts'
import { type RedisPlace } from './address.ts'
import { connectRedis, familyOf, type Health, keysOf, PREFIX } from './connection.ts'
import { bullmqJob } from './queue-job.ts'
import { lastRuns } from './queue-runs.ts'

type BullmqOptions = {
  readonly clock: Clock
  /** Called for every failed run of a job in this instance. */
  readonly onError: (job: string, error: unknown) => void
  readonly health: Health
  /** Called with each eviction policy of Redis that differs from the previous one. */
  readonly onPolicy?: (policy: string) => void
  /**
   * Prefix of all keys in Redis, put in braces so that they are on one node of a cluster. Instances with the same
   * prefix share their jobs.
   */
  readonly prefix?: string
  /** Time in ms after its due time at which a job counts as forgotten and runs here. */
  readonly grace?: number
}

/**
 * Jobs in BullMQ, each once per interval over all instances. Redis only schedules: during an outage or after data loss,
 * every instance runs its jobs itself; concurrent runs are harmless. No operation waits for Redis; `close` waits for
 * running jobs and at most two seconds for Redis.
 */
export const openBullmq = async (
  place: RedisPlace,
  { clock, onError, health, onPolicy, prefix: word = PREFIX, grace = 3000 }: BullmqOptions,
): Promise<Queue> => {
  const stop = new AbortController()
  /** Ignores errors caused by the shutdown itself. */
  const failed = (error: unknown) => {
    if (!stop.signal.aborted) health.failed(error)
  }
  const ownHealth: Health = { failed, worked: health.worked }
  const client = connectRedis(place, true, ownHealth)
  let known: string | undefined
  const disconnect = familyOf(client, (policy) => {
    if (policy !== known) onPolicy?.(policy)
    known = policy
  })
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
      if (jobs.has(job.name)) throw new Error(`job ${job.name} is already scheduled`)
      jobs.set(
        job.name,
        bullmqJob(job, { clock, client, prefix, runs, signal: stop.signal, grace, onError, health: ownHealth }),
      )
    },
    runs: runs.all,
    close: () => (closing ??= close()),
  }
}
