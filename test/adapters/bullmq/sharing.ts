import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import type { RedisPlace } from '../../../src/adapters/redis/address.ts'
import { openRedisLimits } from '../../../src/adapters/redis/rate-limit.ts'
import { sharedQueue } from './store.ts'

export const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
/** Whether it becomes so within twenty seconds. */
export const until = async (enough: () => boolean | Promise<boolean>, ms = 20_000) => {
  for (const end = Date.now() + ms; !(await enough()) && Date.now() < end; ) await sleep(20)
  return enough()
}
export const ignore = () => undefined

/** A job that counts its runs by two instances on a queue, and how often Redis was heard of. */
export const counting = async (place: RedisPlace) => {
  const store = sharedQueue(place, 300)
  const queues = [await store.open(), await store.open()]
  let runs = 0
  for (const queue of queues) await queue.schedule({ name: 'tick', every: 300, run: async () => void runs++ })
  const more = (count: number) => {
    const enough = runs + count
    return until(() => runs >= enough)
  }
  /** Redis has answered again, so many times. */
  const heard = (times: number) => {
    const enough = store.counts.worked + times
    return until(() => store.counts.worked >= enough)
  }
  return { ...store, more, heard, close: () => Promise.all(queues.map((queue) => queue.close())) }
}

/** What is counted at one instance is known at the other. */
export const shareLimits = async (place: RedisPlace, prefix: string = randomUUID()): Promise<boolean> => {
  const options = { clock: systemClock, key: Buffer.from('key'), prefix, flushMs: 30, health: { failed: ignore } }
  const [one, two] = [openRedisLimits(place, options), openRedisLimits(place, options)]
  const [first, second] = [one.limiter('failures', 10), two.limiter('failures', 10)]
  for (let n = 0; n < 20; n++) first.count('ann')
  const shared = await until(() => (second.exhausted('ann') ? true : (second.count('ann'), false)), 5000)
  const known = await until(() => first.exhausted('ann'))
  await Promise.all([one.close(), two.close()])
  return shared && known
}
