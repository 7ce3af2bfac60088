import t from 'tap'
import { startService } from '../start.ts'
import { eventsOf } from './events-of.ts'
import { bearer, type Issued } from './people.ts'

const counted = /^rollcall_auth_decisions_total\{result="(\w+)",reason="(\w*)",method="(\w*)"\} (\d+)$/gm

await t.test('each request with a credential counts as one access decision, even if it is refused', async (t) => {
  const service = await startService(t)
  const { request } = service
  const { json } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'bound', namespaceKey: 'default' })
  const bound = bearer(json.clientToken)
  const other = { namespaceKey: 'other', flagKey: 'f', entityId: 'e' }
  const own = { ...other, namespaceKey: 'default' }
  const decisions = async () =>
    new Map(
      [...(await service.metrics()).matchAll(counted)].map(([, ...of]) => [of.slice(0, 3).join(' '), Number(of[3])]),
    )
  const before = await decisions()
  const asked: readonly (readonly [string, object, object])[] = [
    ['/evaluate/v1/boolean', other, own],
    ['/evaluate/v1/variant', other, own],
    ['/evaluate/v1/batch', { requests: [own, other] }, { requests: [own] }],
    ['/evaluate/v1/batch', { requests: [] }, { requests: [own, own] }],
    ['/api/v1/evaluate', other, own],
    ['/api/v1/batch-evaluate', { ...own, requests: [other] }, { ...own, requests: [own] }],
  ]
  for (const [path, outside, within] of asked) {
    t.equal((await request('POST', path, outside, bound)).status, 403, path)
    t.not((await request('POST', path, within, bound)).status, 403, path)
  }
  const twice = { cookie: 'service_client_token=a; service_client_token=b', authorization: '' }
  t.equal((await request('GET', '/auth/v1/self', undefined, twice)).status, 400)
  const since = [...(await decisions())].flatMap(([key, n]) =>
    n > (before.get(key) ?? 0) ? [[key, n - (before.get(key) ?? 0)]] : [],
  )
  t.strictSame(Object.fromEntries(since), {
    'allowed  token': asked.length,
    'refused token_scoped ': asked.length,
    'refused duplicate_credential ': 1,
  })
  await service.close()
  const told = await eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')
  const { id: tokenId } = json.authentication
  t.match(told[0]?.data, { reason: 'token_scoped', route: '/evaluate/v1/boolean', tokenId })
  const summaries = await eventsOf(service.directory, ({ type }) => type === 'RefusalsSummarised')
  t.match(summaries.at(-1)?.data, { byReason: { duplicate_credential: 1 } })
})
