import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStores } from '../../src/app/stores/stores.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Stored } from '../../src/events/log.ts'
import type { Meta } from '../../src/events/meta.ts'
import { onCluster } from '../cluster/own.ts'
import { type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Starts a service whose clock can be set to `ms` from the right time. */
const withClock = async (t: Test) => {
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, {}, { clock })
  let off = 0
  const shift = (ms: number) => {
    clock.jump(ms - off)
    off = ms
  }
  return { service, shift, clock, instant: (ms = 0) => new Date(clock.now().getTime() + ms).toISOString() }
}
const namespaceOf = async ({ request }: Started, key: string) => {
  const { status, json } = await request<{ createdAt: string }>('POST', '/api/v1/namespaces', { key, name: key })
  return { status, createdAt: json.createdAt }
}
const as = (token: string): Headers => ({ authorization: `Bearer ${token}` })
const self = async ({ request }: Started, token: string) =>
  (await request('GET', '/auth/v1/self', undefined, as(token))).status
const tokenOf = async ({ request }: Started, name: string, expiresAt?: string) => {
  const { json } = await request<{ clientToken: string; authentication: { id: string; createdAt: string } }>(
    'POST',
    '/auth/v1/method/token',
    { name, expiresAt },
  )
  return { token: json.clientToken, ...json.authentication }
}
/** Log lines about the clock, by level. */
const toldOf = async ({ logged }: Started) =>
  (await logged())
    .split('\n')
    .filter((line) => line.includes('ahead_seconds'))
    .map((line) => (JSON.parse(line) as { level: string }).level)
const aheadOf = async ({ metrics }: Started) =>
  Number(/^rollcall_clock_ahead_seconds (\S+)$/m.exec(await metrics())?.[1])

const metasOf = async (t: Test, { directory }: Started) => {
  const { config } = loadConfig({ env: {}, flags: { 'storage.data_dir': join(directory, 'data') } })
  const stores = await openStores(config, systemClock, {})
  t.teardown(stores.close)
  const events: Stored[] = []
  for await (const page of stores.log.readAll(0n)) events.push(...page)
  return events.map((event) => ({ ...event, meta: JSON.parse(event.meta) as Meta }))
}

await t.test('the service handles a clock that was once two hours ahead', async (t) => {
  const { service, shift, clock, instant } = await withClock(t)
  const get = async (path: string) => (await service.request('GET', path)).status
  t.equal(await aheadOf(service), 0)
  shift(2 * HOUR)
  const early = await namespaceOf(service, 'early')
  shift(0)
  const right = instant()
  const late = await namespaceOf(service, 'late')
  t.equal(late.createdAt, early.createdAt, 'no event is earlier than the one in front')
  t.equal(await get(`/api/v1/namespaces/late?at=${instant()}`), 200, 'it is there now')
  t.equal(await get(`/api/v1/namespaces/late?at=${late.createdAt}`), 200, 'and when it was created')
  t.equal(await get(`/api/v1/namespaces/early?at=${early.createdAt}`), 200)
  t.equal(
    await get(`/api/v1/namespaces/late?at=${new Date(Date.parse(late.createdAt) + 1).toISOString()}`),
    400,
    'later has not come',
  )
  const made = await tokenOf(service, 'made')
  t.equal(await get(`/auth/v1/tokens/${made.id}?at=${made.createdAt}`), 200, 'so it is with a token')
  const ahead = await aheadOf(service)
  const newest = Date.parse(late.createdAt)
  t.equal(ahead, (newest - clock.now().getTime()) / 1000, 'a metric tells it')
  t.strictSame(await toldOf(service), ['ERROR'], 'and one line of the log')

  await service.reopen()
  t.equal(await get(`/api/v1/namespaces/late?at=${instant()}`), 200, 'after a restart too')
  await namespaceOf(service, 'third')
  shift(2 * HOUR + MINUTE)
  t.equal(await get(`/api/v1/namespaces/late?at=${late.createdAt}`), 200, 'and when the clock has come there')
  t.equal(await get(`/api/v1/namespaces/late?at=${new Date(Date.parse(late.createdAt) - MINUTE).toISOString()}`), 404)
  t.equal(await aheadOf(service), 0)
  t.strictSame(await toldOf(service), ['ERROR', 'ERROR', 'INFO'], 'logged once per start and at its end')
  await service.close()
  if (onCluster) return
  const metas = await metasOf(t, service)
  for (const key of ['late', 'third']) {
    const { time, meta } = metas.find(({ stream }) => stream === `namespace-${key}`)!
    t.ok(meta.writtenAt! >= right && meta.writtenAt! < time, `the writer's own time stands beside that of ${key}`)
  }
  t.equal(metas.find(({ stream }) => stream === 'namespace-early')!.meta.writtenAt, undefined)
})

await t.test('a clock that is set back by an hour revives no expired token', async (t) => {
  const { service, shift, instant } = await withClock(t)
  const short = await tokenOf(service, 'short', instant(30 * MINUTE))
  const long = await tokenOf(service, 'long', instant(24 * HOUR))
  t.equal(await self(service, short.token), 200)
  shift(HOUR)
  t.equal(await self(service, short.token), 401)
  t.equal((await namespaceOf(service, 'later')).status, 200)
  shift(0)
  t.equal(await self(service, short.token), 401)
  t.equal(await self(service, long.token), 200)
  const { json } = await service.request<{ status: string }>('GET', `/auth/v1/tokens/${short.id}`)
  t.equal(json.status, 'EXPIRED')
  t.strictSame(await toldOf(service), ['WARN'])
  await service.reopen()
  t.equal(await self(service, short.token), 401, 'nor does it after a restart')
  const fresh = await tokenOf(service, 'fresh')
  t.equal(await self(service, fresh.token), 200)
})

await t.test('a clock that once jumped to the year 2099 ends no token', async (t) => {
  const { service, shift, clock, instant } = await withClock(t)
  const long = await tokenOf(service, 'long', instant(24 * HOUR))
  shift(Date.UTC(2099, 0) - clock.now().getTime())
  t.equal((await namespaceOf(service, 'far')).status, 200)
  t.equal(await self(service, long.token), 401)
  shift(0)
  t.equal(await self(service, long.token), 200)
  await service.reopen()
  t.equal(await self(service, long.token), 200)
  const made = await tokenOf(service, 'made', instant(HOUR))
  t.equal(await self(service, made.token), 200)
  shift(HOUR + MINUTE)
  t.equal(await self(service, made.token), 401, 'and what expires expires')
  t.strictSame(await toldOf(service), ['ERROR', 'ERROR'])
})
