import { Redis } from 'ioredis'
import t from 'tap'
import { openBullmq } from '../../../src/adapters/redis/queue.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { ignore } from './sharing.ts'

const { server, skip } = await ownRedis(t)

await t.test('the eviction policy of Redis is reported once, and no line is printed', { skip }, async (t) => {
  const admin = new Redis(server!.url)
  t.teardown(() => admin.disconnect())
  const printed = t.capture(console, 'warn')
  for (const policy of ['allkeys-lru', 'noeviction']) {
    await admin.config('SET', 'maxmemory-policy', policy)
    const policies: string[] = []
    const health = { failed: ignore, worked: ignore }
    const onPolicy = (each: string) => void policies.push(each)
    const queue = await openBullmq({ url: server!.url }, { clock: systemClock, onError: ignore, health, onPolicy })
    let ran = 0
    for (const name of ['one', 'two']) await queue.schedule({ name, every: 200, run: async () => void ran++ })
    await eventually(() => ran >= 4, 'the jobs')
    await queue.close()
    t.strictSame(policies, [policy])
  }
  t.strictSame(printed(), [])
})
