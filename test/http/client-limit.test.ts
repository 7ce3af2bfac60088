import t from 'tap'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { granted } from './granted.ts'
import { refusalOf } from './people.ts'

const LIMIT = '5'
const asked = { flagKey: 'none', entityId: 'e' }

await t.test('requests with a published token are limited by client address', async (t) => {
  const service = await startService(
    t,
    { 'rate_limit.client': LIMIT, 'server.trust_proxy': 'true' },
    { clock: virtualClock() },
  )
  const [one, other] = [await granted(service, { role: 'client' }), await granted(service, { role: 'client' })]
  const server = await granted(service, { role: 'server' })
  const bound = await granted(service, { role: 'client', namespaceKey: 'default' })
  const ask = async ({ headers }: typeof one, from: string, path = '/evaluate/v1/boolean') =>
    service.request('POST', path, asked, { ...headers, 'x-forwarded-for': from })
  const statuses = async (by: typeof one, from: string, times = 7) => {
    const all: number[] = []
    for (let n = 0; n < times; n++) all.push((await ask(by, from)).status)
    return all.filter((status) => status === 429).length
  }
  t.equal(await statuses(one, '192.0.2.1'), 2)
  t.equal(await statuses(one, '192.0.2.2', 5), 0, 'another address')
  t.equal(await statuses(other, '192.0.2.1', 5), 0, 'another token')
  t.equal(await statuses(server, '192.0.2.1', 12), 0, 'a token that is not to be published')
  t.equal(await statuses(bound, '192.0.2.1'), 2, 'one that is bound to a namespace')
  const cookie = { authorization: '', cookie: `service_client_token=${one.clientToken}` }
  const asPage = await service.request('POST', '/evaluate/v1/boolean', asked, {
    ...cookie,
    'x-forwarded-for': '192.0.2.1',
  })
  t.equal(asPage.status, 429, 'in a cookie it is the same token')

  const over = await ask(one, '192.0.2.1', '/api/v1/namespaces')
  t.match(refusalOf(over), { status: 429, code: 8, reason: 'rate_limited', message: 'too many requests' })
  t.equal(over.headers['retry-after'], '60', 'before it is asked what the token may do')
  t.equal((await service.request('GET', '/livez', undefined, one.headers)).status, 200, 'public routes do not look')
})

for (const [name, settings] of [
  ['rate_limit.client', { 'rate_limit.client': '0' }],
  ['rate_limit.enabled', { 'rate_limit.client': LIMIT, 'rate_limit.enabled': 'false' }],
] as const)
  await t.test(`a published token has no limit by address with ${name}`, async (t) => {
    const service = await startService(t, settings)
    const { headers } = await granted(service, { role: 'client' })
    for (let n = 0; n < 12; n++)
      t.equal((await service.request('POST', '/evaluate/v1/boolean', asked, headers)).status, 404)
  })
