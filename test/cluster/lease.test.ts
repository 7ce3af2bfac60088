import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { walkingClock } from '../walking-clock.ts'
import { issue } from './revoking.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
/** Time (ms) after which a silent holder loses the lease. */
const LEASE_MS = 5_000

const gauge = async (service: Started, name: string): Promise<number> => {
  const { text } = await service.request('GET', '/metrics')
  const line = text.split('\n').find((one) => one.startsWith(`rollcall_${name} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}
const holds = (service: Started) => gauge(service, 'view_lease_held')

await t.test('an instance may write read models only while it receives the events of the log', { skip }, async (t) => {
  const { link, url } = await linkTo(t, stack!.settings['eventstore.url']!)
  const clock = walkingClock(t)
  /** Intervals of the periodic work of the instance. */
  const intervals = new Set<number>()
  const every: typeof clock.every = (ms, work) => {
    intervals.add(ms)
    return clock.every(ms, work)
  }
  const a = await startService(t, { ...stack!.settings, 'eventstore.url': url }, { clock: { ...clock, every } })
  const b = await startService(t, stack!.settings, { clock: walkingClock(t) })
  t.strictSame([await holds(a), await holds(b)], [1, 0])
  t.ok(intervals.has(LEASE_MS / 3), `it is renewed each third of five seconds: ${[...intervals].join()}`)

  await t.test('an instance that is cut off from the log gives its lease to another one', async (t) => {
    await link.set('blackhole')
    await eventually(async () => (await holds(a)) === 0, 'a holder that gives it up')
    await eventually(async () => (await holds(b)) === 1, 'another that takes it')
    const { id } = await issue(b)
    const listed = async () => {
      const { json } = await b.request<{ authentications?: readonly { id: string }[] }>('GET', '/auth/v1/tokens?q=n')
      return json.authentications?.some((one) => one.id === id) ?? false
    }
    await eventually(listed, 'a list with what was made')
    await eventually(async () => (await gauge(b, 'view_lag_events')) === 0, 'read models that hold everything')
    t.equal(await holds(a), 0)
  })

  await t.test('exactly one instance holds the lease once both follow the log again', async (t) => {
    await link.set('pass')
    await eventually(async () => (await a.request('GET', '/readyz')).status === 200, 'a service that is ready')
    await eventually(async () => (await gauge(a, 'view_lag_events')) === 0, 'read models that hold everything')
    t.strictSame([await holds(a), await holds(b)], [0, 1])
  })
})
