import { randomUUID } from 'node:crypto'
import { Queue as Turns } from 'bullmq'
import { Redis } from 'ioredis'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'
import type { Job, Queue } from '../../../src/jobs/queue.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

/** Interval in ms at which an instance queries Redis. */
export const LOOK_MS = 1000

/**
 * Instances on one Redis with a virtual clock. BullMQ uses the clock of the machine, on which the test intervals never
 * pass, so the test promotes runs itself.
 */
export const stepped = (url: string, grace = 3000, prefix = `stepped-${randomUUID()}`) => {
  const keys = `{${prefix}}`
  const still = virtualClock()
  let slept = 0
  const clock = { ...still, monotonic: () => still.monotonic() + slept }
  const faults: unknown[] = []
  const errors: unknown[] = []
  let worked = 0
  let scheduled = 0
  const health = { failed: (error: unknown) => void faults.push(error), worked: () => void worked++ }
  const open = () =>
    openBullmq({ url }, { clock, prefix, health, grace, onError: (_: string, error: unknown) => errors.push(error) })
  /** Waits until Redis has answered all calls and the clock has only the timers of the next queries. */
  const answered = () => eventually(() => clock.waiting().length === scheduled, 'the answers of Redis')
  /** Schedules a job on each queue. */
  const schedule = async (job: Job, ...queues: readonly Queue[]) => {
    for (const queue of queues) {
      await queue.schedule(job)
      scheduled++
      await eventually(() => worked >= scheduled, 'the first look of each')
    }
    await answered()
  }
  /** Lets each instance query Redis this number of times, each query answered before the next. */
  const look = async (times = 1) => {
    for (let n = 0; n < times; n++) {
      const enough = worked + scheduled
      await clock.advance(LOOK_MS)
      await eventually(() => worked >= enough, 'a look of each instance')
      await answered()
    }
  }
  /** Lets time pass without queries, as on a suspended machine. */
  const sleep = (ms: number) => void (slept += ms)
  /** The BullMQ queue of a job, on its own connection. */
  const turns = (name: string) => {
    const connection = new Redis(url, { maxRetriesPerRequest: null })
    const queue = new Turns(name, { connection, prefix: keys })
    const end = () => {
      connection.disconnect()
      return queue.close()
    }
    return { queue, end }
  }
  return { clock, turns, keys, sleep, open, schedule, look, answered, faults, errors }
}
