import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces'
const D = `${N}/default`
const quotas = {
  'quotas.flags_per_namespace': '3',
  'quotas.segments_per_namespace': '2',
  'quotas.bytes_per_namespace': '20000',
  'quotas.namespaces': '3',
  'quotas.tokens_per_credential': '3',
}
type Ids = { readonly id: string }
type Issued = { readonly clientToken: string; readonly authentication: Ids }
const text = (length: number) => JSON.stringify('x'.repeat(length - 2))

await t.test('the number of flags and segments in a namespace, and of namespaces, is limited', async (t) => {
  const service = await startService(t, quotas)
  const { request } = service
  const [refused, create] = [refuses(service), creator(service)]
  const full = (message: string, path: string, body: object) =>
    refused(t, ['POST', path, body], message, 'quota_exceeded')

  for (const key of ['a', 'b', 'c']) await create(t, `${D}/flags`, { key, name: key })
  const head = (await request('DELETE', `${D}/flags/nothing`)).headers['event-position']
  await full('namespace "default" already has 3 flags; quotas.flags_per_namespace allows 3', `${D}/flags`, {
    key: 'd',
    name: 'd',
  })
  t.equal((await request('DELETE', `${D}/flags/nothing`)).headers['event-position'], head, 'nothing was appended')
  await refused(t, ['POST', `${D}/flags`, { key: 'a', name: 'a' }], 'flag "default/a" is not unique', 'not_unique')
  await refused(t, ['POST', `${N}/none/flags`, { key: 'a', name: 'a' }], 'namespace "none" not found', 'not_found')
  await request('DELETE', `${D}/flags/b`)
  await create(t, `${D}/flags`, { key: 'd', name: 'd' })

  for (const key of ['s', 't']) await create(t, `${D}/segments`, { key, name: key })
  const segments = 'namespace "default" already has 2 segments; quotas.segments_per_namespace allows 2'
  await full(segments, `${D}/segments`, { key: 'u', name: 'u' })
  t.equal((await request('PUT', `${D}/segments/s`, { name: 'renamed' })).status, 200)

  for (const key of ['one', 'two']) await create(t, N, { key, name: key })
  await full('the service already has 3 namespaces; quotas.namespaces allows 3', N, { key: 'three', name: 'three' })
  for (const key of ['e', 'f', 'g']) await create(t, `${N}/one/flags`, { key, name: key })
  await request('DELETE', `${N}/one?force=true`)
  await create(t, N, { key: 'one', name: 'again' })
  await create(t, `${N}/one/flags`, { key: 'h', name: 'a new life begins with nothing' })

  const racers = Array.from({ length: 12 }, (_, n) => request('POST', `${N}/two/flags`, { key: `r${n}`, name: 'r' }))
  await Promise.all(racers)
  const { totalCount } = (await request<{ totalCount: number }>('GET', `${N}/two/flags`)).json
  t.ok(
    totalCount >= 3 && totalCount <= 12,
    `${totalCount} of 12 at once: beyond the quota by what was under way at most`,
  )
  t.equal((await request('POST', `${N}/two/flags`, { key: 'later', name: 'r' })).status, 400)
})

await t.test('a namespace that has reached its quota of bytes still accepts changes that do not grow it', async (t) => {
  const service = await startService(t, { ...quotas, 'quotas.flags_per_namespace': '100' })
  const { request } = service
  const create = creator(service)
  await create(t, `${D}/flags`, { key: 'f', name: 'f', enabled: true })
  const a = await create(t, `${D}/flags/f/variants`, { key: 'a', attachment: text(9_000) })
  await create(t, `${D}/segments`, { key: 's', name: 's' })
  const rule = await create(t, `${D}/flags/f/rules`, { segmentKey: 's' })
  const share = await create(t, `${D}/flags/f/rules/${rule.id}/distributions`, { variantId: a.id, rollout: 1 })
  await create(t, `${D}/flags/f/variants`, { key: 'b', attachment: text(9_000) })
  const more = async (method: string, path: string, body: object) => {
    const { status, json } = await request<{ message: string; details: [{ value: { reason: string } }] }>(
      method,
      path,
      body,
    )
    t.same([status, json.details[0].value.reason], [400, 'quota_exceeded'], `${method} ${path}`)
    t.match(
      json.message,
      /^namespace "default" would have 2\d{4} bytes of flags and segments; quotas\.bytes_per_namespace allows 20000$/,
    )
  }
  await more('POST', `${D}/flags/f/variants`, { key: 'c', attachment: text(2_000) })
  await more('PUT', `${D}/flags/f/variants/${a.id}`, { key: 'a', attachment: text(11_000) })
  await more('PUT', `${D}/flags/f`, { name: 'f', description: 'd'.repeat(2_000) })
  await more('POST', `${D}/segments`, { key: 'big', name: 'big', description: 'd'.repeat(5_000) })
  await more('PUT', `${D}/segments/s`, { name: 's', description: 'd'.repeat(5_000) })
  t.equal((await request('PUT', `${D}/flags/f`, { name: 'n'.repeat(255), enabled: false })).status, 200)
  const shared = await request('PUT', `${D}/flags/f/rules/${rule.id}/distributions/${share.id}`, {
    variantId: a.id,
    rollout: 33.33,
  })
  t.equal(shared.status, 200)

  await service.close()
  const lowered = await startService(
    t,
    { ...quotas, 'quotas.bytes_per_namespace': '1000' },
    { directory: service.directory },
  )
  const asked = lowered.request
  t.equal(
    (await asked('GET', `${D}/flags/f`)).status,
    200,
    'a quota that was lowered below what there is stops no reading',
  )
  t.equal((await asked('PUT', `${D}/flags/f`, { name: 'switched on', enabled: true })).status, 200)
  t.equal((await asked('POST', `${D}/flags`, { key: 'g', name: 'g' })).status, 400)
  t.equal(
    (await asked('PUT', `${D}/flags/f/variants/${a.id}`, { key: 'a', attachment: text(5_000) })).status,
    200,
    'it shrinks',
  )
  t.equal((await asked('DELETE', `${D}/flags/f`)).status, 200)
  t.equal((await asked('POST', `${D}/flags`, { key: 'g', name: 'g' })).status, 200)
  await refuses(lowered)(t, ['GET', `${D}/flags/f`], 'flag "default/f" not found', 'not_found')
})

await t.test('the total size of the rights of all active tokens of one creator is limited', async (t) => {
  const service = await startService(t, { 'quotas.grant_bytes_per_credential': '2000' })
  const refused = refuses(service)
  const P = '/auth/v1/method/token'
  const namespace = (n: number) => `${'long'.repeat(20)}-${n}`
  for (let n = 0; n < 10; n++) await service.request('POST', '/api/v1/namespaces', { key: namespace(n), name: 'n' })
  const body = (name: string, namespaces: number) => ({
    name,
    grants: Array.from({ length: namespaces }, (_, n) => ({
      namespaceKey: namespace(n),
      rights: ['flag.read', 'flag.update'],
    })),
  })
  const make = async (name: string, namespaces: number) => {
    const { status, json } = await service.request<Issued>('POST', P, body(name, namespaces))
    t.equal(status, 200, name)
    return json
  }
  const beyond = (bytes: number, namespaces: number) =>
    refused(
      t,
      ['POST', P, body('c', namespaces)],
      `the live tokens of this credential would have ${bytes} bytes of rights; quotas.grant_bytes_per_credential allows 2000`,
      'quota_exceeded',
    )
  const first = await make('a', 10)
  await beyond(2121, 9)
  await make('b', 2)
  await service.reopen()
  await beyond(2349, 9)
  await service.request('DELETE', `/auth/v1/tokens/${first.authentication.id}`)
  await make('c', 9)
  await beyond(2238, 9)
})

await t.test('the number of active tokens of one creator is limited', async (t) => {
  const service = await startService(t, { ...quotas, 'authentication.required': 'false' })
  const refused = refuses(service)
  const P = '/auth/v1/method/token'
  const make = async (token = service.token) =>
    (await service.request<Issued>('POST', P, { name: 'made' }, { authorization: token && `Bearer ${token}` })).json
  const beyond = (token: string) =>
    refused(
      t,
      ['POST', P, { name: 'made' }, { authorization: token && `Bearer ${token}` }],
      'this credential already has 3 live tokens; quotas.tokens_per_credential allows 3',
      'quota_exceeded',
    )
  const made = [await make(), await make(), await make()]
  await beyond(service.token)
  const other = made[0]!.clientToken
  for (let n = 0; n < 3; n++) await make(other)
  await beyond(other)
  await service.reopen()
  await beyond(service.token)
  await service.request('DELETE', `/auth/v1/tokens/${made[1]!.authentication.id}`)
  t.ok((await make()).clientToken)
  await beyond(service.token)
  // The bootstrap token has no creator either.
  for (let n = 0; n < 2; n++) t.ok((await make('')).clientToken)
  await beyond('')
})
