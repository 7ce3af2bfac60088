import t from 'tap'
import type { StateDiff, StreamState } from '../../src/contract/history/state.ts'
import { type Started, startService } from '../start.ts'
import type { Issued } from './people.ts'

const N = '/api/v1/namespaces/default'

const state = ({ request }: Started, stream: string, at = '') =>
  request<StreamState>('GET', `/audit/v1/state/${stream}${at === '' ? '' : `?at=${at}`}`)
const diff = ({ request }: Started, search: string) => request<StateDiff>('GET', `/audit/v1/diff?${search}`)

/** Sends a write and returns the position of its events. */
const write = async ({ request }: Started, ...[method, path, body]: readonly [string, string, object?]) => {
  const { status, headers, text } = await request(method, path, body)
  if (status !== 200) throw new Error(text)
  return String(headers['event-position'])
}

await t.test("the state of a flag in the history equals the flag's own GET at that moment", async (t) => {
  const service = await startService(t)
  const created = await write(service, 'POST', `${N}/flags`, { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
  const changed = await write(service, 'PUT', `${N}/flags/f`, { name: 'G', enabled: true })
  const past = await state(service, 'flag/default+f', created)
  const own = await service.request('GET', `${N}/flags/f?at=${created}`)
  t.strictSame(past.json.state, own.json)
  t.equal(`"${past.json.revision}"`, own.headers['etag'])
  t.match(past.json, {
    stream: 'flag-default+f',
    exists: true,
    at: { position: created },
    lastEvent: { type: 'FlagCreated' },
  })
  const present = await state(service, 'flag/default+f')
  t.match(present.json, {
    exists: true,
    state: { name: 'G', enabled: true },
    lastEvent: { type: 'FlagUpdated', position: changed },
  })
  const { json: event } = await service.request<{ readonly index: number }>('GET', `/audit/v1/events/${changed}`)
  t.equal(present.json.lastEvent.index, event.index)
  await write(service, 'DELETE', `${N}/flags/f`)
  const gone = (await state(service, 'flag/default+f')).json
  t.match(gone, { exists: false, lastEvent: { type: 'FlagDeleted' } })
  t.notOk('state' in gone || 'revision' in gone)
})

await t.test('the history returns past states of namespaces, segments and tokens', async (t) => {
  const service = await startService(t)
  await write(service, 'POST', `${N}/segments`, { key: 's', name: 'S' })
  const { json: issued } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'ci' })
  const { id } = issued.authentication
  t.match((await state(service, 'namespace/default')).json, { exists: true, state: { key: 'default' } })
  t.match((await state(service, 'segment/default+s')).json, { exists: true, state: { key: 's', constraints: [] } })
  t.match((await state(service, `token/${id}`)).json, { exists: true, state: { id, status: 'ACTIVE' } })
  await service.request('DELETE', `/auth/v1/tokens/${id}`)
  t.match((await state(service, `token/${id}`)).json, { exists: true, state: { id, status: 'DELETED' } })
  await write(service, 'POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
  await write(service, 'POST', '/api/v1/namespaces/shop/flags', { key: 'f', name: 'F' })
  await write(service, 'POST', '/api/v1/namespaces/shop/segments', { key: 's', name: 'S' })
  const before = await write(service, 'POST', '/api/v1/namespaces/shop/flags', { key: 'own', name: 'F' })
  await write(service, 'DELETE', '/api/v1/namespaces/shop/flags/own')
  const ended = await write(service, 'DELETE', '/api/v1/namespaces/shop?force=true')
  const endedBy = { type: 'NamespaceDeleted', position: ended }
  const gone = (path: string, at?: string) => state(service, path, at).then(({ json }) => json)
  t.match(await gone('flag/shop+f'), { exists: false, lastEvent: { type: 'FlagCreated' }, endedBy })
  t.match(await gone('segment/shop+s'), { exists: false, lastEvent: { type: 'SegmentCreated' }, endedBy })
  t.notOk('endedBy' in (await gone('flag/shop+own')), 'deleted by itself before')
  t.notOk('endedBy' in (await gone('flag/shop+f', before)), 'before the deletion')
  await write(service, 'POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })
  t.match(await gone('flag/shop+f'), { exists: false, endedBy }, 'the key has a new namespace')
  await write(service, 'POST', '/api/v1/namespaces/shop/flags', { key: 'f', name: 'F' })
  t.notOk('endedBy' in (await gone('flag/shop+f')), 'the flag is there again')
  for (const [path, status, message] of [
    ['flag/default+none', 404, 'stream "flag-default+none" not found'],
    ['flag/default%2Bnone', 404, 'stream "flag-default+none" not found'],
    ['login/x', 400, 'invalid field category: unknown value "login"'],
    ['constructor/x', 400, 'invalid field category: unknown value "constructor"'],
    ['flag/default+f?at=x', 400, 'invalid field at: must be an RFC 3339 timestamp or a position'],
    ['flag/default+f?at=99999', 400, 'invalid field at: must not be beyond the last position'],
  ] as const) {
    const answer = await state(service, path)
    t.equal(answer.status, status, path)
    t.match(answer.json, { message })
  }
})

await t.test('the history compares a resource or a namespace at two moments', async (t) => {
  const service = await startService(t)
  await write(service, 'POST', `${N}/flags`, { key: 'old', name: 'Old', type: 'BOOLEAN_FLAG_TYPE' })
  await write(service, 'POST', `${N}/flags`, { key: 'same', name: 'Same' })
  const a = await write(service, 'POST', `${N}/flags`, { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
  await write(service, 'PUT', `${N}/flags/f`, { name: 'F', enabled: true })
  await write(service, 'POST', `${N}/flags/f/rollouts`, { threshold: { percentage: 50, value: true } })
  await write(service, 'DELETE', `${N}/flags/old`)
  const b = await write(service, 'POST', `${N}/segments`, { key: 's', name: 'S' })
  await write(service, 'PUT', `${N}/flags/f`, { name: 'later', enabled: true })

  const one = (await diff(service, `stream=flag-default%2Bf&a=${a}&b=${b}`)).json
  t.match(one, { equal: false, a: { position: a }, b: { position: b }, nextPageToken: '' })
  const [item] = one.items
  t.strictSame(item!.changes[0], { path: '/enabled', from: false, to: true })
  t.match(item!.changes[1]!.path, /^\/rollouts\/[0-9a-f-]{36}$/)
  t.equal(item!.changes.length, 2)

  const all = (await diff(service, `namespaceKey=default&a=${a}&b=${b}`)).json
  t.strictSame(
    all.items.map(({ stream, kind }) => [stream, kind]),
    [
      ['flag-default+f', 'changed'],
      ['flag-default+old', 'removed'],
      ['segment-default+s', 'added'],
    ],
  )
  const joined: StateDiff['items'][number][] = []
  for (let token = ''; ; ) {
    const { json } = await diff(service, `namespaceKey=default&a=${a}&b=${b}&limit=1&pageToken=${token}`)
    t.ok(json.items.length <= 1)
    joined.push(...json.items)
    token = json.nextPageToken
    if (token === '') break
  }
  t.strictSame(joined, all.items)
  t.match((await diff(service, `namespaceKey=default&a=${b}&b=${b}`)).json, { equal: true, items: [] })
  const start = (await diff(service, 'namespaceKey=default&a=0&b=1000-01-01T00:00:00Z')).json
  t.strictSame([start.a, start.b, start.equal], [{ index: -1, position: '0' }, { index: -1, position: '0' }, true])
  t.match((await diff(service, `namespaceKey=default&a=${b}`)).json, {
    items: [{ changes: [{ path: '/name', from: 'F', to: 'later' }] }],
  })
  for (const [search, message] of [
    [`a=${a}`, 'invalid field stream: must not be empty'],
    [`stream=flag-default%2Bf`, 'invalid field a: must not be empty'],
    [
      `stream=x&namespaceKey=y&a=${a}`,
      'invalid field namespaceKey: only one of stream and namespaceKey can be present',
    ],
    [`stream=login-x&a=${a}`, 'invalid field category: unknown value "login"'],
    [`stream=flag-x%2By&a=${a}`, 'stream "flag-x+y" not found'],
    ['stream=flag-default%2Bf&a=x', 'invalid field a: must be an RFC 3339 timestamp or a position'],
    ['stream=flag-default%2Bf&a=99999', 'invalid field a: must not be beyond the last position'],
    [`stream=flag-default%2Bf&a=${a}&b=2999-01-01T00:00:00Z`, 'invalid field b: must not be later than now'],
  ] as const)
    t.match((await diff(service, search)).json, { message }, search)
})
