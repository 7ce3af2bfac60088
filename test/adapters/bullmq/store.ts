import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import type { RedisPlace } from '../../../src/adapters/redis/address.ts'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'

/** A queue of its own on a Redis, that several may have open. */
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
