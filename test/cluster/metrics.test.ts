import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { startService, type Started } from '../start.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))

/** The value of a metric, by its name with its labels; NaN when it is not on the page. */
const read = async (service: Started, metric: string): Promise<number> => {
  const text = await service.metrics()
  const line = text.split('\n').find((one) => one.startsWith(`rollcall_${metric} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}
const becomes = async (holds: () => Promise<boolean>, withinMs = 15_000): Promise<boolean> => {
  for (const end = performance.now() + withinMs; performance.now() < end; await sleep(50))
    if (await holds()) return true
  return false
}
const calls = (port: string, adapter: string, operation: string, outcome: string) =>
  `store_calls_total{port="${port}",adapter="${adapter}",operation="${operation}",outcome="${outcome}"}`

await t.test('what the metrics say of the servers', { skip }, async (t) => {
  const { link, url } = await linkTo(t, stack!.settings['eventstore.url']!)
  const a = await startService(t, stack!.settings)
  const b = await startService(t, { ...stack!.settings, 'eventstore.url': url })

  await t.test('each call is told under the server that took it', async (t) => {
    const [append, put, schedule] = [
      calls('log', 'eventstoredb', 'append', 'ok'),
      calls('views', 'mongodb', 'put', 'ok'),
      calls('queue', 'redis', 'schedule', 'ok'),
    ]
    const before = [await read(a, append), await read(a, put)]
    t.equal((await a.request('POST', '/auth/v1/method/token', { name: 'n' })).status, 200)
    t.ok((await read(a, append)) > before[0]!)
    t.ok((await read(a, put)) > before[1]!)
    t.equal(await read(a, schedule), 1)
    t.ok(
      (await read(a, 'store_call_duration_seconds_count{port="log",adapter="eventstoredb",operation="append"}')) >
        before[0]!,
    )
  })

  await t.test('a lost race is a refusal and no failure', async (t) => {
    const flag = '/api/v1/namespaces/default/flags/raced'
    await a.request('POST', '/api/v1/namespaces/default/flags', { key: 'raced', name: 'R' })
    const refused = async () => (await read(a, calls('log', 'eventstoredb', 'append', 'refused'))) >= 1
    for (let n = 0; n < 20 && !(await refused()); n++)
      await Promise.all([a, b, a, b].map((each, i) => each.request('PUT', flag, { name: `${n} ${i}` })))
    t.ok(await refused())
    t.equal(await read(a, calls('log', 'eventstoredb', 'append', 'failed')), 0)
  })

  await t.test('one instance holds the lease on the views, and both have proven the head a moment ago', async (t) => {
    const holders = async () => (await read(a, 'view_lease_held')) + (await read(b, 'view_lease_held'))
    t.ok(await becomes(async () => (await holders()) === 1))
    for (const each of [a, b]) t.ok(await becomes(async () => (await read(each, 'freshness_age_seconds')) < 1))
  })

  await t.test('the last run of a job is the same run on both', async (t) => {
    t.ok(await becomes(async () => (await read(b, 'job_last_outcome{name="cleanup-token",outcome="ok"}')) === 1))
    const started = 'job_last_start_timestamp_seconds{name="cleanup-token"}'
    t.equal(await read(a, started), await read(b, started))
    t.equal(await read(a, 'job_last_items{name="cleanup-token",of="done"}'), 0)
    t.equal(await read(a, 'job_interval_seconds{name="cleanup-token"}'), 3600)
  })

  await t.test('an event store that falls silent is left: connections made anew are counted', async (t) => {
    const connections = () => read(b, 'log_restarts_total{what="connection"}')
    const before = await connections()
    t.ok(before >= 0, 'there from the start')
    await link.set('blackhole')
    t.ok(await becomes(async () => (await connections()) > before))
    await link.set('pass')
    t.ok(await becomes(async () => (await read(b, 'freshness_age_seconds')) < 1))
  })

  await t.test('an event store that goes and comes is seen: age, failed calls, subscriptions made anew', async (t) => {
    const failed = calls('log', 'eventstoredb', 'head', 'failed')
    const [before, subscriptions] = [await read(a, failed), await read(a, 'log_restarts_total{what="subscription"}')]
    stack!.eventstore.kill()
    t.ok(await becomes(async () => (await read(a, 'freshness_age_seconds')) > 2))
    t.ok(await becomes(async () => (await read(a, failed)) > before))
    await stack!.eventstore.restart()
    t.ok(await becomes(async () => (await read(a, 'log_restarts_total{what="subscription"}')) > subscriptions))
    t.ok(await becomes(async () => (await read(a, 'freshness_age_seconds')) < 1))
  })
})
