import { randomUUID } from 'node:crypto'
import type { RedisPlace } from '../../../src/adapters/redis/address.ts'
import { openRedisLimits } from '../../../src/adapters/redis/rate-limit.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { eventually } from '../../wait.ts'
import { sharedQueue } from './store.ts'

export const ignore = () => undefined

/** A job that counts its runs in two instances of a queue, and the number of answers from Redis. */
export const counting = async (place: RedisPlace) => {
  const store = sharedQueue(place, 300)
  const queues = [await store.open(), await store.open()]
  let runs = 0
  for (const queue of queues) await queue.schedule({ name: 'tick', every: 300, run: async () => void runs++ })
  /** Waits for this number of further runs. */
  const more = (count: number) => {
    const enough = runs + count
    return eventually(() => runs >= enough, `${count} more runs`)
  }
  /** Waits for this number of further answers from Redis. */
  const heard = (times: number) => {
    const enough = store.counts.worked + times
    return eventually(() => store.counts.worked >= enough, `${times} answers of Redis`)
  }
  return { ...store, more, heard, close: () => Promise.all(queues.map((queue) => queue.close())) }
}

/** Returns true if counts of one instance reach the other. */
export const shareLimits = async (place: RedisPlace, prefix: string = randomUUID()): Promise<boolean> => {
  const options = { clock: systemClock, key: Buffer.from('key'), prefix, flushMs: 30, health: { failed: ignore } }
  const [one, two] = [openRedisLimits(place, options), openRedisLimits(place, options)]
  const [first, second] = [one.limiter('failures', 10), two.limiter('failures', 10)]
  for (let n = 0; n < 20; n++) first.count('ann')
  await eventually(() => (second.count('ann'), second.exhausted('ann')), 'what the other counted')
  await eventually(() => first.exhausted('ann'), 'what was counted here')
  await Promise.all([one.close(), two.close()])
  return true
}
