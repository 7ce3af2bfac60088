import { get } from 'node:http'
import t from 'tap'
import type { Shown } from '../../src/contract/answer.ts'
import type { FlagList, FlagWithUsage } from '../../src/contract/flags/flag.ts'
import type { ListedNamespace, NamespaceList } from '../../src/contract/resource.ts'
import { type Headers, startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'

const HOUR = 3_600_000
const NINE = '2031-06-10T09:00:00.000Z'

await t.test('the last evaluation of a flag and the last snapshot of a namespace have an hour', async (t) => {
  let time = Date.parse('2031-06-10T09:30:00Z')
  const service = await startService(t, {}, { now: () => new Date(time) })
  const { request } = service
  const make = maker(service)
  const shop = maker(service, 'shop')
  const hourOf = async (key: string, query = '', namespace = 'default') => {
    const path = `/api/v1/namespaces/${namespace}/flags`
    const { json } = await request<FlagWithUsage>('GET', `${path}/${key}?include=usage${query}`)
    const list = await request<FlagList>('GET', `${path}?include=targeting&q=${key}${query}`)
    t.equal(list.json.flags.find((flag) => flag.key === key)?.lastEvaluatedAt, json.lastEvaluatedAt, 'in the list too')
    return json.lastEvaluatedAt
  }
  const send = (path: string, body: object, headers: Headers = {}) => request('POST', path, body, headers)
  const bulk = '/ofrep/v1/evaluate/flags'
  const context = { targetingKey: 'e' }
  const of = (flagKey: string) => ({ flagKey, entityId: 'e', context: {} })

  await t.test('each route that evaluates records the evaluation', async (t) => {
    const ways: Readonly<Record<string, (key: string) => Promise<{ readonly status: number }>>> = {
      boolean: (key) => send('/evaluate/v1/boolean', of(key)),
      'wrong-type': (key) => send('/evaluate/v1/variant', of(key)),
      batch: (key) => send('/evaluate/v1/batch', { requests: [of(key)] }),
      ofrep: (key) => send(`${bulk}/${key}`, { context }),
      'ofrep-named': (key) => send(bulk, { context: { ...context, flags: key } }),
      variant: (key) => send('/evaluate/v1/variant', of(key)),
      legacy: (key) => send('/api/v1/namespaces/default/evaluate', of(key)),
      'legacy-batch': (key) => send('/api/v1/batch-evaluate', { requests: [of(key)] }),
      'no-targeting-key': (key) => send(`${bulk}/${key}`, { context: {} }),
    }
    const isVariant = (key: string) => ['variant', 'legacy', 'legacy-batch', 'no-targeting-key'].includes(key)
    for (const key of Object.keys(ways)) await (isVariant(key) ? make.variantFlag(key) : make.boolean(key, true))
    for (const [key, ask] of Object.entries(ways)) {
      t.equal(await hourOf(key), undefined, `${key}: not evaluated yet`)
      const { status } = await ask(key)
      t.equal(status, ['wrong-type', 'no-targeting-key'].includes(key) ? 400 : 200, key)
      t.equal(await hourOf(key), NINE, key)
    }
  })

  await t.test('trials, evaluations in the past and reads record nothing', async (t) => {
    await make.boolean('quiet')
    await send('/evaluate/v1/boolean?explain=true', of('quiet'))
    await send('/evaluate/v1/boolean?at=2031-06-10T09:30:00Z', of('quiet'))
    await send('/evaluate/v1/boolean', of('missing'))
    await request('GET', '/api/v1/flags/quiet')
    t.equal(await hourOf('quiet'), undefined)
    const { json } = await request<FlagWithUsage>('GET', '/api/v1/flags/boolean')
    t.equal(json.lastEvaluatedAt, undefined, 'only with include=usage')
  })

  await t.test('a bulk request whose answer has not changed records all its flags', async (t) => {
    const { headers } = await send(bulk, { context })
    time += HOUR
    const again = { 'if-none-match': String(headers['etag']) }
    t.equal((await send(bulk, { context }, again)).status, 304)
    t.equal(await hourOf('boolean'), '2031-06-10T10:00:00.000Z')
    time += HOUR
    const named = await send(bulk, { context: { ...context, flags: 'batch' } })
    time += HOUR
    await send(bulk, { context: { ...context, flags: 'batch' } }, { 'if-none-match': String(named.headers['etag']) })
    t.equal(await hourOf('batch'), '2031-06-10T12:00:00.000Z')
    t.equal(await hourOf('boolean'), '2031-06-10T10:00:00.000Z')
  })

  await t.test('lists are filtered and sorted by the last evaluation', async (t) => {
    await shop.namespace()
    for (const key of ['old', 'never', 'new']) await shop.boolean(key)
    const evaluate = (flagKey: string) => send('/evaluate/v1/boolean', { ...of(flagKey), namespaceKey: 'shop' })
    await evaluate('old')
    time += 2 * HOUR
    await evaluate('new')
    const list = async (query: string) => {
      const { json } = await request<FlagList>('GET', `/api/v1/namespaces/shop/flags?${query}`)
      return json.flags.map(({ key }) => key)
    }
    t.same(await list('sort=lastEvaluatedAt'), ['never', 'old', 'new'])
    t.same(await list('sort=lastEvaluatedAt&order=desc'), ['new', 'old', 'never'])
    t.same(await list('notEvaluatedSince=2031-06-10T13:00:00Z'), ['old', 'never'])
    t.same(await list('notEvaluatedSince=2031-06-10T12:59:59Z'), ['never'], 'the hour may hold a later evaluation')
    t.same(await list('evaluatedSince=2031-06-10T12:59:59Z'), ['old', 'new'])
    t.same(await list('evaluatedSince=2031-06-10T13:00:00Z'), ['new'])
    t.same(await list('notEvaluatedSince=2031-06-10T12:29:59Z'), [], 'none existed at that time')
    const first = await request<FlagList>('GET', '/api/v1/namespaces/shop/flags?sort=lastEvaluatedAt&limit=2')
    t.same(await list(`sort=lastEvaluatedAt&limit=2&pageToken=${first.json.nextPageToken}`), ['new'])
    const wrong = await request('GET', '/api/v1/flags?notEvaluatedSince=yesterday')
    t.match(wrong, { status: 400, text: /notEvaluatedSince: must be an RFC 3339 timestamp/ })
    t.equal((await request('GET', '/api/v1/segments?sort=lastEvaluatedAt')).status, 400)
  })

  await t.test('a past moment shows only hours that had ended by then', async (t) => {
    time += HOUR
    t.equal(await hourOf('new', '&at=2031-06-10T14:59:59Z', 'shop'), undefined)
    t.equal(await hourOf('new', '&at=2031-06-10T15:00:00Z', 'shop'), '2031-06-10T14:00:00.000Z')
    const { json } = await request<FlagList>(
      'GET',
      '/api/v1/namespaces/shop/flags?notEvaluatedSince=2031-06-10T14:00:00Z&at=2031-06-10T14:30:00Z',
    )
    t.same(
      json.flags.map(({ key }) => key),
      ['old', 'never', 'new'],
    )
  })

  await t.test('a namespace has the hour of its last snapshot', async (t) => {
    const fetchedAt = async (query = '') => {
      const one = await request<ListedNamespace>('GET', `/api/v1/namespaces/shop?include=usage${query}`)
      const list = await request<Shown<typeof NamespaceList>>('GET', `/api/v1/namespaces?include=usage&q=shop${query}`)
      const flag = await request<FlagWithUsage>('GET', `/api/v1/namespaces/shop/flags/never?include=usage${query}`)
      t.same(one.json, list.json.namespaces[0])
      t.equal(flag.json.snapshotFetchedAt, one.json.snapshotFetchedAt)
      return one.json.snapshotFetchedAt
    }
    const path = '/internal/v1/evaluation/snapshot/namespace/shop'
    t.equal(await fetchedAt(), undefined)
    const { headers } = await request('GET', path)
    t.equal(await fetchedAt(), '2031-06-10T15:00:00.000Z')
    time += HOUR
    await request('GET', path, undefined, { 'if-none-match': String(headers['etag']) })
    t.equal(await fetchedAt(), '2031-06-10T16:00:00.000Z', 'an unchanged one too')
    t.equal(await fetchedAt('&at=2031-06-10T16:00:00Z'), undefined)
    const unasked = async (query: string) =>
      (await request<FlagList>('GET', `/api/v1/namespaces/shop/flags?notEvaluatedSince=${query}`)).json.totalCount
    t.equal(await unasked('2031-06-10T17:00:00Z'), 3)
    t.equal(await unasked('2031-06-10T16:59:59Z'), 0, 'engines may evaluate what they have fetched')
    t.equal(await unasked('2031-06-10T15:00:00Z&at=2031-06-10T15:30:00Z'), 3, 'at that moment no hour had ended')
    const authorized = { authorization: `Bearer ${service.token}` }
    const stream = get(`${service.url}/client/v2/environments/default/namespaces/shop/stream`, { headers: authorized })
    await new Promise((opened, failed) => stream.on('response', opened).on('error', failed))
    time += HOUR
    await eventually(async () => {
      const { json } = await request<ListedNamespace>('GET', '/api/v1/namespaces/shop?include=usage')
      return json.snapshotFetchedAt === '2031-06-10T17:00:00.000Z'
    }, 'an open stream counts')
    stream.on('error', () => undefined).destroy()
    time -= HOUR
    t.equal((await request('GET', '/internal/v1/evaluation/snapshot/namespace/none')).status, 200)
  })

  await t.test('a restart keeps the hours, and a clock that is set back takes nothing away', async (t) => {
    await service.reopen()
    t.equal(await hourOf('boolean'), '2031-06-10T10:00:00.000Z')
    time -= 12 * HOUR
    await send('/evaluate/v1/boolean', of('boolean'))
    t.equal(await hourOf('boolean'), '2031-06-10T10:00:00.000Z')
    time += 12 * HOUR
    await send('/evaluate/v1/boolean', of('boolean'))
    t.equal(await hourOf('boolean'), '2031-06-10T16:00:00.000Z')
    // The service records this request later. The clock goes back no more, because times of events never decrease.
    const state = await request('GET', '/audit/v1/state/flag/shop+new')
    t.equal(state.status, 200)
    t.notMatch(state.text, /lastEvaluatedAt/, 'the history does not have it')
  })

  await t.test('a flag or namespace that is deleted and created again starts without an hour', async (t) => {
    await request('DELETE', '/api/v1/flags/boolean')
    await make.boolean('boolean', true)
    t.equal(await hourOf('boolean'), undefined)
    await send('/evaluate/v1/boolean', of('boolean'))
    t.equal(await hourOf('boolean'), '2031-06-10T16:00:00.000Z')
    await request('DELETE', '/api/v1/namespaces/shop?force=true')
    await shop.namespace()
    await shop.boolean('new')
    t.equal(await hourOf('new', '', 'shop'), undefined)
    const { json } = await request<ListedNamespace>('GET', '/api/v1/namespaces/shop?include=usage')
    t.equal(json.snapshotFetchedAt, undefined)
  })
})
