import { randomUUID } from 'node:crypto'
import t from 'tap'
import { systemClock } from '../../../src/clock.ts'
import { openRedisLimits } from '../../../src/adapters/redis/rate-limit.ts'
import type { Limiter } from '../../../src/auth/rate-limit.ts'
import { count, limiterContract } from '../../contracts/limiter.ts'
import { ownRedis } from '../servers.ts'

const { server, skip } = await ownRedis(t)
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
const until = async (enough: () => boolean) => {
  for (const end = Date.now() + 5000; !enough() && Date.now() < end; ) await sleep(10)
  return enough()
}
const pair = () => {
  const errors: unknown[] = []
  let now = 1_000_000 * 60_000
  const options = {
    clock: { ...systemClock, now: () => new Date(now) },
    prefix: randomUUID(),
    key: Buffer.from('the key of the tests'),
    flushMs: 30,
    health: { failed: (error: unknown) => void errors.push(error) },
  }
  const opened = [
    openRedisLimits({ url: server!.url }, options),
    openRedisLimits({ url: server!.url }, options),
  ] as const
  const limiters = opened.map(({ limiter }) => limiter('failures', 10)) as [Limiter, Limiter]
  return {
    opened,
    limiters,
    errors,
    pass: (ms: number) => void (now += ms),
    close: () => Promise.all(opened.map(({ close }) => close())),
  }
}

await t.test('Limiter on Redis', { skip }, async (t) =>
  limiterContract(t, (t) => {
    const { opened, pass, close } = pair()
    t.teardown(close)
    return { limiter: (name, limit) => opened[0].limiter(name, limit), pass }
  }),
)

await t.test(
  'what one instance counts uses up the limit in all, client by client, until the minute ends',
  { skip },
  async (t) => {
    const { limiters, pass, close } = pair()
    const [one, two] = limiters
    count(one, 'ann', 6)
    count(two, 'ann', 4)
    count(two, 'bob', 9)
    t.notOk(one.exhausted('ann'), 'not known yet')
    // Each sees the other's once it has counted again and told it.
    t.ok(await until(() => (one.count('ann'), one.exhausted('ann'))))
    two.count('ann')
    t.ok(await until(() => two.exhausted('ann')))
    t.notOk(two.exhausted('bob'))
    t.equal(one.retryAfter(), 60)
    pass(59_500)
    t.equal(one.retryAfter(), 1)
    pass(500)
    t.notOk(one.exhausted('ann'))
    t.notOk(two.exhausted('ann'))
    await close()
  },
)

await t.test('without Redis each instance counts for itself, at once, and tells it afterwards', { skip }, async (t) => {
  const { limiters, errors, close } = pair()
  const [one, two] = limiters
  await server!.kill()
  await sleep(50)
  count(one, 'ann', 9)
  t.notOk(one.exhausted('ann'))
  one.count('ann')
  t.ok(one.exhausted('ann'))
  t.notOk(two.exhausted('ann'))
  t.ok(await until(() => errors.length > 0), 'it is told')
  await server!.start()
  t.ok(await until(() => (two.exhausted('bob') ? false : (two.count('ann'), two.exhausted('ann')))))
  await close()
})

await t.test('a Redis that hangs keeps nobody waiting', { skip }, async (t) => {
  const { limiters, close } = pair()
  const [one] = limiters
  server!.freeze()
  const began = performance.now()
  count(one, 'ann', 10)
  t.ok(one.exhausted('ann'))
  t.ok(performance.now() - began < 50)
  await sleep(100)
  await close()
  t.ok(performance.now() - began < 1000)
  server!.thaw()
})
