import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { walkingClock } from '../walking-clock.ts'
import { controlling, startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

/** Value of a metric with its labels; NaN if absent. */
const read = async (service: Started, metric: string): Promise<number> => {
  const text = await service.metrics()
  const line = text.split('\n').find((one) => one.startsWith(`rollcall_${metric} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}
/** Waits until an instance has a recent proof of the head. */
const proven = (service: Started) =>
  eventually(async () => (await read(service, 'freshness_age_seconds')) < 1, 'a proof of the head')
const calls = (port: string, adapter: string, operation: string, outcome: string) =>
  `store_calls_total{port="${port}",adapter="${adapter}",operation="${operation}",outcome="${outcome}"}`

await t.test('the metrics show the state of the servers', { skip }, async (t) => {
  const { link, url } = await linkTo(t, stack!.settings['eventstore.url']!)
  const a = await startService(t, stack!.settings, { clock: walkingClock(t) })
  const b = await startService(t, { ...stack!.settings, 'eventstore.url': url }, { clock: walkingClock(t) })

  await t.test('each call is counted under the server that received it', async (t) => {
    const [append, put, schedule] = [
      calls('log', 'eventstoredb', 'append', 'ok'),
      calls('views', 'mongodb', 'put', 'ok'),
      calls('queue', 'redis', 'schedule', 'ok'),
    ]
    const before = [await read(a, append), await read(a, put)]
    t.equal((await a.request('POST', '/auth/v1/method/token', { name: 'n' })).status, 200)
    t.ok((await read(a, append)) > before[0]!)
    t.ok((await read(a, put)) > before[1]!)
    t.equal(await read(a, schedule), 2, 'cleanup and unfinished erasures')
    t.ok(
      (await read(a, 'store_call_duration_seconds_count{port="log",adapter="eventstoredb",operation="append"}')) >
        before[0]!,
    )
  })

  const raced = 'a write that lost a race counts as refused, not as failed'
  await controlling(t, stack!, { eventstore: 'delays an append' }, raced, async (t, { eventstore }) => {
    const flag = '/api/v1/namespaces/default/flags/raced'
    await a.request('POST', '/api/v1/namespaces/default/flags', { key: 'raced', name: 'R' })
    const refused = () => read(a, calls('log', 'eventstoredb', 'append', 'refused'))
    const before = await refused()
    eventstore.overtake(/flag-/, () => b.request('PUT', flag, { name: 'of the other' }))
    t.equal((await a.request('PUT', flag, { name: 'late' })).status, 200)
    t.equal((await refused()) - before, 1)
    t.equal(await read(a, calls('log', 'eventstoredb', 'append', 'failed')), 0)
  })

  await t.test('one instance holds the lease, and both have just read the end of the log', async (t) => {
    const holders = async () => (await read(a, 'view_lease_held')) + (await read(b, 'view_lease_held'))
    t.ok(await eventually(async () => (await holders()) === 1, 'one holder'))
    for (const each of [a, b]) await proven(each)
  })

  await t.test('both instances show the same last run of a job', async (t) => {
    const ended = async () => (await read(b, 'job_last_outcome{name="cleanup-token",outcome="ok"}')) === 1
    await eventually(ended, 'the end of a job')
    const started = 'job_last_start_timestamp_seconds{name="cleanup-token"}'
    t.equal(await read(a, started), await read(b, started))
    t.equal(await read(a, 'job_last_items{name="cleanup-token",of="done"}'), 0)
    t.equal(await read(a, 'job_interval_seconds{name="cleanup-token"}'), 3600)
  })

  await t.test('the metrics count new connections when the event store stops answering', async (t) => {
    const connections = () => read(b, 'log_restarts_total{what="connection"}')
    const before = await connections()
    t.ok(before >= 0, 'there from the start')
    await link.set('blackhole')
    t.ok(await eventually(async () => (await connections()) > before, 'a new connection'))
    await link.set('pass')
    await proven(b)
  })

  const restarted = 'the metrics show a restart of the event store'
  await controlling(t, stack!, { eventstore: 'ends and restarts it' }, restarted, async (t, { eventstore }) => {
    const failed = calls('log', 'eventstoredb', 'head', 'failed')
    const [before, subscriptions] = [await read(a, failed), await read(a, 'log_restarts_total{what="subscription"}')]
    eventstore.kill()
    await eventually(async () => (await read(a, 'freshness_age_seconds')) > 2, 'an old proof')
    await eventually(async () => (await read(a, failed)) > before, 'a call that failed')
    await eventstore.restart()
    const anew = async () => (await read(a, 'log_restarts_total{what="subscription"}')) > subscriptions
    t.ok(await eventually(anew, 'a new subscription'))
    await proven(a)
  })
})
