import { randomUUID } from 'node:crypto'
import { Queue as Turns } from 'bullmq'
import type { Test } from 'tap'
import type { RedisPlace } from '../../../src/adapters/redis/address.ts'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { QueueStore } from '../../contracts/queue.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

/** A separate queue on a Redis that several instances can open. */
export const sharedQueue = (place: string | RedisPlace, grace?: number, prefix = `test-${randomUUID()}`) => {
  const errors: unknown[] = []
  const faults: unknown[] = []
  const counts = { worked: 0 }
  const health = { failed: (error: unknown) => void faults.push(error), worked: () => void counts.worked++ }
  const at = typeof place === 'string' ? { url: place } : place
  const open = () =>
    openBullmq(at, {
      clock: systemClock,
      prefix,
      health,
      onError: (_, error) => errors.push(error),
      ...(grace !== undefined && { grace }),
    })
  return { open, errors, faults, counts, prefix, keys: `{${prefix}}`, shared: true }
}

/**
 * A queue for the contract that several instances can open. BullMQ uses the clock of the machine, on which the
 * intervals never pass, so the test promotes the next run. `admin` is an address with all rights.
 */
export const contractedQueue = (
  t: Test,
  place: RedisPlace,
  { prefix = `test-${randomUUID()}`, admin = place } = {},
): QueueStore => {
  const clock = virtualClock()
  const errors: unknown[] = []
  const ignore = () => undefined
  const health = { failed: ignore, worked: ignore }
  const client = connectRedis(admin, true, health)
  t.teardown(familyOf(client))
  const names = new Map<string, Turns>()
  /** Makes the next run of a job due, unless it already is. */
  const promote = async (turns: Turns): Promise<boolean> => {
    if ((await turns.getWaitingCount()) > 0) return true
    const delayed = await turns.getDelayed()
    for (const turn of delayed) await turn.promote()
    return delayed.length > 0
  }
  return {
    open: async () => {
      const queue = await openBullmq(place, { clock, prefix, health, onError: (_, error) => errors.push(error) })
      const schedule: typeof queue.schedule = async (job) => {
        await queue.schedule(job)
        if (!names.has(job.name))
          names.set(job.name, new Turns(job.name, { connection: client, prefix: `{${prefix}}` }))
      }
      return { ...queue, schedule }
    },
    pass: async (ms) => {
      if (ms === 0) return
      clock.jump(ms)
      for (const [name, turns] of names) await eventually(() => promote(turns), `the next turn of ${name}`)
    },
    errors,
    clock,
    shared: true,
  }
}
