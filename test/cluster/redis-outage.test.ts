import { Redis } from 'ioredis'
import t from 'tap'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { walkingClock } from '../walking-clock.ts'
import { startStack } from './stack.ts'

type Line = Readonly<Record<string, unknown>>

const { stack, skip } = await startStack(t, { needs: { redis: 'ends and restarts it' } })

/** Log lines about Redis, and all other lines above INFO except those about other late servers. */
const told = async (service: Started) => {
  const lines = (await service.logged()).trim().split('\n')
  const records = lines.map((line) => JSON.parse(line) as Line)
  return {
    ofRedis: records.filter(({ adapter, job }) => adapter === 'redis' || job !== undefined),
    others: records.filter(
      ({ level, adapter, msg }) => level !== 'INFO' && adapter !== 'redis' && !/out of reach/.test(String(msg)),
    ),
  }
}
const ready = async (service: Started) => {
  const { status, json } = await service.request<{ checks: readonly Line[] }>('GET', '/readyz?verbose')
  return [status, json.checks.find(({ name }) => name === 'queue')?.['status']]
}
/** Waits until it is ready with this state of its queue. */
const becomes = (service: Started, queue: string) =>
  eventually(async () => (await ready(service)).join(' ') === `200 ${queue}`, `a queue that is ${queue}`)
const shared = async (service: Started) => /^rollcall_queue_shared (\d)$/m.exec(await service.metrics())?.[1]

await t.test('requests succeed while Redis restarts', { skip }, async (t) => {
  const cleanup = 'authentication.methods.token.cleanup'
  const settings = { ...stack!.settings, [`${cleanup}.interval`]: '1s', [`${cleanup}.grace_period`]: '1s' }
  const clock = walkingClock(t)
  const admin = new Redis(stack!.settings['redis.url']!)
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
  admin.disconnect()
  const service = await startService(t, settings, { clock })
  const evicting = async () => (await told(service)).others.filter(({ policy }) => policy === 'allkeys-lru')
  await eventually(async () => (await evicting()).length > 0, 'the line about evicted keys')
  const before = (await told(service)).others.length
  t.same(await ready(service), [200, 'ok'])
  t.equal(await shared(service), '1')

  const expiresAt = new Date(clock.now().getTime() + 2000).toISOString()
  t.equal((await service.request('POST', '/auth/v1/method/token', { name: 'n', expiresAt })).status, 200)
  await stack!.redis.kill()
  await becomes(service, 'degraded')
  t.equal(await shared(service), '0')
  const ended = async () => /^rollcall_cleanup_deleted_total\{method="token"\} 1$/m.test(await service.metrics())
  await eventually(ended, 'the cleanup of a token that expires during the outage')
  await clock.advance(3_000)
  const during = await told(service)
  t.match(during.ofRedis, [{ level: 'ERROR', port: 'queue', why: /ECONNREFUSED/, advice: /check that Redis runs/ }])
  t.equal(during.ofRedis.length, 1, 'one line for one outage')
  t.notOk('err' in during.ofRedis[0]! || 'stack' in during.ofRedis[0]!)

  await stack!.redis.start()
  await becomes(service, 'ok')
  t.equal(await shared(service), '1')
  const after = await told(service)
  t.match(after.ofRedis.slice(1), [{ level: 'INFO', msg: 'it works again', failures: Number, seconds: Number }])
  t.ok(Number(after.ofRedis[1]!['failures']) > 1, 'of an outage that failed more than one call')
  t.equal(after.ofRedis.length, 2)
  t.equal(after.others.length, before, 'no other log line')
  t.match(await evicting(), [{ level: 'WARN', msg: /^Redis evicts keys .* set maxmemory-policy to noeviction$/ }])
  t.equal((await evicting()).length, 1, 'logged once')
})

await t.test('the service starts although Redis is unavailable', { skip }, async (t) => {
  await stack!.redis.kill()
  const service = await startService(t, stack!.settings, { clock: walkingClock(t) })
  await becomes(service, 'degraded')
  t.equal((await service.request('POST', '/auth/v1/method/token', { name: 'n' })).status, 200)
  await stack!.redis.start()
  await becomes(service, 'ok')
  const { ofRedis } = await told(service)
  t.match(ofRedis, [
    { level: 'ERROR', why: /ECONNREFUSED/ },
    { level: 'INFO', msg: 'it works again' },
  ])
  t.equal(ofRedis.length, 2)
})
