import { randomUUID } from 'node:crypto'
import { Queue as Turns } from 'bullmq'
import { Redis } from 'ioredis'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'
import type { Job, Queue } from '../../../src/jobs/queue.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

/** Milliseconds between two looks of an instance at Redis. */
export const LOOK_MS = 1000

/**
 * Instances on one Redis whose clock stands still. BullMQ goes by the clock of the machine, on which the intervals of the tests
 * do not pass: it gives a turn where a test says so.
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
  /** All that was asked of Redis has been answered: no clock waits but those of the next looks. */
  const answered = () => eventually(() => clock.waiting().length === scheduled, 'the answers of Redis')
  /** Schedules a job at each of the queues. */
  const schedule = async (job: Job, ...queues: readonly Queue[]) => {
    for (const queue of queues) {
      await queue.schedule(job)
      scheduled++
      await eventually(() => worked >= scheduled, 'the first look of each')
    }
    await answered()
  }
  /** Lets so many looks of each instance pass, each answered before the next. */
  const look = async (times = 1) => {
    for (let n = 0; n < times; n++) {
      const enough = worked + scheduled
      await clock.advance(LOOK_MS)
      await eventually(() => worked >= enough, 'a look of each instance')
      await answered()
    }
  }
  /** Lets time pass in which no instance looks, as on a machine that sleeps. */
  const sleep = (ms: number) => void (slept += ms)
  /** The queue of a job in BullMQ, on a connection of its own. */
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
