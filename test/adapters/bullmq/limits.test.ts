import { randomUUID } from 'node:crypto'
import t from 'tap'
import { openRedisLimits } from '../../../src/adapters/redis/rate-limit.ts'
import type { Limiter } from '../../../src/auth/rate-limit.ts'
import { count, limiterContract } from '../../contracts/limiter.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'

const { server, skip } = await ownRedis(t)
const FLUSH_MS = 30
const pair = () => {
  const errors: unknown[] = []
  const clock = virtualClock()
  let now = 1_000_000 * 60_000
  const options = {
    clock: { ...clock, now: () => new Date(now) },
    prefix: randomUUID(),
    key: Buffer.from('the key of the tests'),
    flushMs: FLUSH_MS,
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
    clock,
    /** Waits for a condition while counts are sent to Redis. */
    until: (enough: () => boolean, what: string) =>
      eventually(async () => {
        await clock.advance(FLUSH_MS)
        return enough()
      }, what),
    close: () => Promise.all(opened.map(({ close }) => close())),
  }
}

await t.test('the rate limiter counts requests in Redis', { skip }, async (t) =>
  limiterContract(t, (t) => {
    const { opened, pass, close } = pair()
    t.teardown(close)
    return { limiter: (name, limit) => opened[0].limiter(name, limit), pass }
  }),
)

await t.test('several instances share one limit for each client, which is reset every minute', { skip }, async (t) => {
  const { limiters, pass, until, close } = pair()
  const [one, two] = limiters
  count(one, 'ann', 6)
  count(two, 'ann', 4)
  count(two, 'bob', 9)
  t.notOk(one.exhausted('ann'), 'not known yet')
  // An instance receives the counts of others when it sends its own.
  await until(() => (one.count('ann'), one.exhausted('ann')), 'what the other counted')
  two.count('ann')
  await until(() => two.exhausted('ann'), 'the same at the other')
  t.notOk(two.exhausted('bob'))
  t.equal(one.retryAfter(), 60)
  pass(59_500)
  t.equal(one.retryAfter(), 1)
  pass(500)
  t.notOk(one.exhausted('ann'))
  t.notOk(two.exhausted('ann'))
  await close()
})

await t.test(
  'without Redis each instance counts requests by itself, and sends its counts to Redis later',
  { skip },
  async (t) => {
    const { opened, limiters, errors, until, close } = pair()
    const [one, two] = limiters
    await server!.kill()
    await eventually(() => opened.every(({ ready }) => !ready()), 'the loss')
    count(one, 'ann', 9)
    t.notOk(one.exhausted('ann'))
    one.count('ann')
    t.ok(one.exhausted('ann'))
    t.notOk(two.exhausted('ann'))
    await until(() => errors.length > 0, 'the fault to be told')
    await server!.start()
    await until(() => (two.count('ann'), two.exhausted('ann')), 'what was counted meanwhile')
    t.notOk(two.exhausted('bob'))
    await close()
  },
)

await t.test('a hanging Redis does not delay a request', { skip }, async (t) => {
  const { opened, limiters, clock, close } = pair()
  const [one] = limiters
  await eventually(() => opened.every(({ ready }) => ready()), 'the connections')
  server!.freeze()
  count(one, 'ann', 10)
  t.ok(one.exhausted('ann'), 'none of its answers is awaited')
  await clock.advance(FLUSH_MS)
  await close()
  t.same(clock.waiting(), [], 'nor at the end, with a count under way')
  server!.thaw()
})

await t.test('by default an instance sends its request counts to Redis every 250 ms', { skip }, async (t) => {
  const clock = virtualClock()
  const health = { failed: () => undefined }
  const { close } = openRedisLimits({ url: server!.url }, { clock, health, key: Buffer.from('the key of the tests') })
  t.strictSame(clock.waiting(), [250])
  await close()
  t.strictSame(clock.waiting(), [])
})
