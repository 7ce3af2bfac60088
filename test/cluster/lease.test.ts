import t from 'tap'
import { linkTo } from '../stand-ins/proxy.ts'
import { startService, type Started } from '../start.ts'
import { issue, sleep } from './revoking.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)

const gauge = async (service: Started, name: string): Promise<number> => {
  const line = (await service.metrics()).split('\n').find((one) => one.startsWith(`rollcall_${name} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}
const becomes = async (holds: () => Promise<boolean>): Promise<boolean> => {
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(50)) if (await holds()) return true
  return false
}
const holds = (service: Started) => gauge(service, 'view_lease_held')

await t.test('who sees to the views does so only while it follows the log', { skip }, async (t) => {
  const { link, url } = await linkTo(t, stack!.settings['eventstore.url']!)
  const a = await startService(t, { ...stack!.settings, 'eventstore.url': url })
  const b = await startService(t, stack!.settings)
  t.strictSame([await holds(a), await holds(b)], [1, 0])

  await t.test('a holder that is cut off from the log gives that up, and the other takes it', async (t) => {
    await link.set('blackhole')
    t.ok(await becomes(async () => (await holds(a)) === 0))
    t.ok(await becomes(async () => (await holds(b)) === 1))
    const { id } = await issue(b)
    const listed = async () => {
      const { json } = await b.request<{ authentications?: readonly { id: string }[] }>('GET', '/auth/v1/tokens?q=n')
      return json.authentications?.some((one) => one.id === id) ?? false
    }
    t.ok(await becomes(listed))
    t.ok(await becomes(async () => (await gauge(b, 'view_lag_events')) === 0), 'nothing is behind')
    t.equal(await holds(a), 0)
  })

  await t.test('once it follows again there is one holder still', async (t) => {
    await link.set('pass')
    t.ok(await becomes(async () => (await a.request('GET', '/readyz')).status === 200))
    t.ok(await becomes(async () => (await gauge(a, 'view_lag_events')) === 0))
    t.ok(await becomes(async () => (await holds(a)) + (await holds(b)) === 1))
  })
})
