import { get, type IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import type { HistoryEvent, HistoryEvents } from '../../src/contract/history/events.ts'
import { type Fields, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { type Issued, refusalOf } from './people.ts'

const N = '/api/v1/namespaces'

const list = async ({ request }: Started, search = '', headers = {}) =>
  request<HistoryEvents>('GET', `/audit/v1/events?${search}`, undefined, headers)
const types = ({ json }: { readonly json: HistoryEvents }) => json.events.map(({ type }) => type)
const made = async ({ request }: Started, body: Fields) =>
  (await request<Issued>('POST', '/auth/v1/method/token', body)).json
const as = ({ clientToken }: Issued) => ({ authorization: `Bearer ${clientToken}` })

const LEDGER = '/audit/v1/ledger'

/** Changes of a flag, and tokens with different access, after the first checkpoint, so that `sealed` stays as it is. */
const populated = async (service: Started) => {
  const { request } = service
  await eventually(async () => (await request('GET', `${LEDGER}/checkpoint`)).status === 200, 'the first checkpoint')
  for (const key of ['shop', 'other']) await request('POST', N, { key, name: key })
  await request(
    'POST',
    `${N}/shop/flags`,
    { key: 'checkout', name: 'Checkout', type: 'BOOLEAN_FLAG_TYPE' },
    { 'x-request-id': 'create-it' },
  )
  await request(
    'PUT',
    `${N}/shop/flags/checkout`,
    { name: 'Checkout', enabled: true },
    { 'event-reason': 'switch on for launch' },
  )
  await request('POST', `${N}/shop/segments`, { key: 'staff', name: 'Staff' })
  return {
    bound: await made(service, { name: 'bound', namespaceKey: 'shop' }),
    viewer: await made(service, { name: 'viewer', grants: [{ role: 'viewer', namespaceKey: 'shop' }] }),
    auditor: await made(service, { name: 'auditor', role: 'auditor' }),
  }
}

await t.test('the event list has the events of the log with their summary and changes', async (t) => {
  const service = await startService(t)
  const { bound } = await populated(service)
  const all = await list(service, 'limit=1000')
  t.equal(all.status, 200)
  t.equal(all.headers['cache-control'], 'no-store')
  t.equal(all.json.nextPageToken, '')
  t.strictSame(
    all.json.events.map(({ index }) => index),
    all.json.events.map((_, index) => index),
  )
  t.strictSame(all.json.through, all.json.head)
  t.equal(all.json.head!.index, all.json.events.length - 1)

  const { json } = await list(service, 'type=FlagUpdated&namespaceKey=shop')
  const [event] = json.events
  t.match(event, {
    type: 'FlagUpdated',
    version: 1,
    category: 'flag',
    stream: 'flag-shop+checkout',
    revision: 1,
    namespace: 'shop',
    outcome: 'success',
    command: 'UpdateFlag',
    actor: { kind: 'token', name: 'initial_bootstrap_token' },
    reason: 'switch on for launch',
    summary: 'flag shop/checkout switched on',
    changes: [{ path: '/enabled', from: false, to: true }],
    sealed: false,
  })
  t.strictSame(
    (await list(service, `tokenId=${bound.authentication.id}`)).json.events.map(({ summary }) => summary),
    ['static token "bound" issued for namespace shop, never expires'],
  )
  t.strictSame(types(await list(service, 'requestId=create-it')), ['FlagRegistered', 'FlagCreated'])
  t.strictSame(types(await list(service, 'q=SWITCHED%20ON')), ['FlagUpdated'])
  t.strictSame(types(await list(service, 'namespaceKey=shop&flagKey=checkout&order=desc')), [
    'FlagUpdated',
    'FlagCreated',
  ])
})

await t.test('paging and polling the event list neither loses nor repeats an event', async (t) => {
  const service = await startService(t)
  await populated(service)
  const whole = (await list(service, 'limit=1000')).json
  for (const order of ['asc', 'desc']) {
    const found: HistoryEvent[] = []
    for (let token = ''; ; ) {
      const { json } = await list(service, `limit=3&order=${order}&pageToken=${token}`)
      found.push(...json.events)
      token = json.nextPageToken
      if (token === '') break
    }
    t.strictSame(order === 'asc' ? found : found.toReversed(), whole.events, order)
  }
  const { through } = (await list(service, 'type=SegmentDeleted')).json
  t.strictSame(through, whole.head, 'all events were examined')
  await service.request('DELETE', `${N}/shop/segments/staff`)
  t.strictSame(types(await list(service, `type=SegmentDeleted&after=${through!.position}`)), ['SegmentDeleted'])
  t.strictSame(types(await list(service, `type=SegmentDeleted&afterIndex=${through!.index}`)), ['SegmentDeleted'])
  const { json } = await list(service, 'count=true&category=token')
  t.strictSame(json.count, { value: json.events.length, exact: true })
  t.strictSame((await list(service, 'from=2100-01-01T00:00:00Z')).json.events, [])
})

await t.test('an event can be read by its position', async (t) => {
  const service = await startService(t)
  await populated(service)
  const { events } = (await list(service)).json
  for (const event of [events[0]!, events.at(-1)!])
    t.strictSame((await service.request('GET', `/audit/v1/events/${event.position}`)).json, event)
  for (const unknown of ['0', '999999', 'x', '-1', '99999999999999999999999']) {
    const { status, json } = await service.request('GET', `/audit/v1/events/${unknown}`)
    t.equal(status, 404, unknown)
    t.match(json, { message: `event "${unknown}" not found` })
  }
})

await t.test('readers of a namespace see its events, and only auditors see all other events', async (t) => {
  const service = await startService(t)
  const { bound, viewer, auditor } = await populated(service)
  const plain = (await list(service, 'namespaceKey=shop&limit=1000')).json.events
  t.ok(plain.some(({ category }) => category === 'token'))
  t.strictSame((await list(service, 'namespaceKey=shop&limit=1000', as(auditor))).json.events, plain)
  for (const token of [bound, viewer]) {
    const { json } = await list(service, 'namespaceKey=shop&limit=1000', as(token))
    t.strictSame(
      json.events,
      plain.filter(({ category }) => ['flag', 'segment', 'namespace'].includes(category)),
    )
    t.ok(json.events.length > 4)
    for (const search of [
      '',
      'namespaceKey=shop,other',
      'namespaceKey=!shop',
      'namespaceKey=other',
      'type=FlagUpdated',
    ]) {
      const refusal = refusalOf(await list(service, search, as(token)))
      t.equal(refusal.status, 403, search)
      t.match(refusal.reason, /token_scoped|right_missing/)
    }
    t.equal((await service.request('GET', '/audit/v1/events/1', undefined, as(token))).status, 403)
  }
  const refused = await list(service, 'namespaceKey=other', as(viewer))
  t.match(refused.json, { message: /history\.read/ })
})

await t.test('invalid filters of the event list are refused', async (t) => {
  const service = await startService(t)
  const rows: readonly (readonly [string, string])[] = [
    ['type=Nothing', 'invalid field type: unknown value "Nothing"'],
    ['type=TokenIssued.v2', 'invalid field type: unknown value "TokenIssued.v2"'],
    ['type=!Nothing', 'invalid field type: unknown value "Nothing"'],
    ['category=flags', 'invalid field category: unknown value "flags"'],
    ['method=METHOD_OIDC', 'invalid field method: unknown value "METHOD_OIDC"'],
    ['outcome=ok', 'invalid field outcome: unknown value "ok"'],
    ['flagKey=a', 'invalid field flagKey: needs namespaceKey'],
    ['segmentKey=a&namespaceKey=!b', 'invalid field segmentKey: needs namespaceKey'],
    ['q=ab', 'invalid field q: must be 3 to 200 characters'],
    ['from=5', 'invalid field from: must be an RFC 3339 timestamp'],
    ['to=-1h', 'invalid field to: must be an RFC 3339 timestamp'],
    ['after=x', 'invalid field after: must be a position'],
    ['afterIndex=1.5', 'invalid field afterIndex: must be an index'],
    ['after=1&afterIndex=1', 'invalid field afterIndex: only one of after and afterIndex can be present'],
    ['before=1&beforeIndex=1', 'invalid field beforeIndex: only one of before and beforeIndex can be present'],
    ['order=up', 'invalid field order: unknown value "up"'],
    ['limit=-1', 'invalid field limit: must not be negative'],
    ['format=xml', 'invalid field format: unknown value "xml"'],
    ['personal=all', 'invalid field personal: unknown value "all"'],
    [`actor=${Array.from({ length: 21 }, () => 'a').join()}`, 'invalid field actor: must contain at most 20 elements'],
    ['pageToken=x', 'pageToken is not valid: "x"'],
  ]
  for (const [search, message] of rows) {
    const { status, json } = await list(service, search)
    t.equal(status, 400, search)
    t.match(json, { message })
  }
  const { nextPageToken } = (await list(service, 'limit=1')).json
  t.equal((await list(service, `category=token&pageToken=${nextPageToken}`)).status, 400, 'token of another filter')
  t.equal((await list(service, `order=desc&pageToken=${nextPageToken}`)).status, 400, 'token of another order')
  t.strictSame((await list(service, 'stream=a\\,b,c\\\\d&type=,')).json.events, [])
})

type Streamed = {
  readonly status: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
  readonly count: string | undefined
}

/** An export, with its trailer. */
const exported = ({ url, token }: Started, search: string, headers = {}) =>
  new Promise<Streamed>((resolve, reject) => {
    const path = `${url}/audit/v1/events?${search}`
    get(path, { headers: { authorization: `Bearer ${token}`, ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, trailers } = response
        resolve({ status: statusCode, text, headers: response.headers, count: trailers['history-count'] })
      })
    }).on('error', reject)
  })

type Cloud = {
  readonly id: string
  readonly source: string
  readonly sequence: string
  readonly meta: string
  readonly data: object
}
await t.test('a page of CloudEvents has the events of the log and the address of the next page', async (t) => {
  const service = await startService(t)
  await populated(service)
  const { ledger } = (await service.request<{ ledger: string }>('GET', LEDGER)).json
  const { events } = (await list(service, 'limit=1000')).json
  const found: Cloud[] = []
  let [search, pages] = ['format=cloudevents&limit=3&category=flag,namespace', 0]
  for (; search !== ''; pages++) {
    const { status, headers, text } = await list(service, search)
    t.equal(status, 200)
    t.equal(headers['content-type'], 'application/cloudevents-batch+json')
    t.match(headers['history-through'], /^\d+$/)
    found.push(...(JSON.parse(text) as readonly Cloud[]))
    search = /^<\?(.*)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1] ?? ''
  }
  t.ok(pages > 2)
  t.strictSame(
    found.map(({ id, source, sequence, data, meta }) => [id, source, Number(sequence), data, JSON.parse(meta)]),
    events
      .filter(({ category }) => category === 'flag' || category === 'namespace')
      .map(({ id, index, data, meta }) => [id, `urn:rollcall:ledger:${ledger}`, index, data, meta]),
  )
  const accept = 'application/cloudevents-batch+json'
  t.equal((await list(service, 'type=SegmentDeleted', { accept })).text, '[]')
})

await t.test('all events can be exported as NDJSON and CSV', async (t) => {
  const service = await startService(t)
  await populated(service)
  const { events } = (await list(service, 'limit=1000')).json
  const { status, text, headers, count } = await exported(service, 'format=ndjson')
  t.equal(status, 200)
  t.equal(headers['content-type'], 'application/x-ndjson')
  t.equal(headers['history-range'], `0-${events.length}`)
  t.equal(headers['content-disposition'], `attachment; filename="rollcall-events-0-${events.length}.ndjson"`)
  t.equal(count, String(events.length))
  const lines = text.split('\n')
  t.equal(lines.pop(), '')
  t.strictSame(
    lines.map((line) => JSON.parse(line) as { readonly index: number; readonly data: object; readonly meta: object }),
    events.map(({ index, position, id, stream, revision, type, version, time, data, meta }) => ({
      index,
      position,
      id,
      stream,
      revision,
      type: version === 1 ? type : `${type}.v${version}`,
      time,
      data,
      meta,
    })),
  )
  t.equal(
    (await exported(service, '', { accept: 'application/jsonl, text/csv' })).text,
    text,
    'Accept selects the form',
  )
  const last = lines.length - 3
  t.equal((await exported(service, `format=ndjson&afterIndex=${last}`)).text, `${lines.slice(last + 1).join('\n')}\n`)
  t.equal((await exported(service, 'format=ndjson&limit=2')).text, `${lines.slice(0, 2).join('\n')}\n`)
  for (const accept of ['*/*', 'text/html, text/*', 'constructor'])
    t.equal((await list(service, 'limit=1', { accept })).headers['content-type'], 'application/json', accept)
  const none = await exported(service, 'format=ndjson&type=FlagDeleted')
  t.strictSame([none.text, none.count], ['', '0'])
  const csv = await exported(service, 'format=csv&type=FlagUpdated')
  t.match(csv.text, /^index,position,.*\r\n\d+,\d+,[^\r]*,FlagUpdated,1,flag,flag-shop\+checkout,1,[^\r]*\r\n$/)
  t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const head = await service.request('HEAD', '/audit/v1/events?format=ndjson')
  t.strictSame([head.status, head.text], [200, ''])
  for (const search of ['format=ndjson&order=desc', 'format=csv&pageToken=x'])
    t.equal((await exported(service, search)).status, 400, search)
})

await t.test('reads and exports of the event list are recorded with their caller', async (t) => {
  const clock = virtualClock()
  const service = await startService(t, {}, { clock })
  for (let n = 0; n < 30; n++) await service.request('POST', `${N}/default/flags`, { key: `f${n}`, name: 'f' })
  const changes = Array.from({ length: 200 }, (_, n) => ({ op: 'variant.create', key: `v${n}` }))
  for (let n = 0; n < 6; n++) await service.request('POST', `${N}/default/flags/f${n}/changes`, { changes })
  t.equal((await exported(service, 'format=ndjson&limit=3')).status, 200, 'limits the answer')
  t.equal((await exported(service, 'format=ndjson&q=variant')).status, 200)
  await list(service)
  await clock.advance(65_000)
  const recorded = async () => (await list(service, 'type=History*')).json.events
  await eventually(async () => (await recorded()).length === 2, 'the record of the readings')
  const [found, counts] = await recorded()
  t.match(found, {
    type: 'HistoryExported',
    actor: { kind: 'token' },
    data: { format: 'ndjson', filter: { q: /^filter-[\w-]{22}$/ }, fromIndex: 0 },
  })
  t.match(counts, { type: 'HistoryRead', data: { requests: 2, routes: { '/audit/v1/events': 2 } } })
})

await t.test('one holder may run only a limited number of exports at once', async (t) => {
  const service = await startService(t, { 'history.streams': '5' })
  const attachment = JSON.stringify('x'.repeat(900_000))
  await service.request('POST', `${N}/default/flags`, { key: 'f', name: 'f' })
  for (let n = 0; n < 12; n++)
    await service.request('POST', `${N}/default/flags/f/variants`, { key: `v${n}`, attachment })
  const other = await made(service, { name: 'other' })
  const viewer = await made(service, { name: 'viewer', role: 'viewer', namespaceKey: 'default' })
  const open = (token: string, namespace = '') =>
    new Promise<{ readonly status: number; readonly end: () => void }>((resolve, reject) => {
      const asked = get(
        `${service.url}/audit/v1/events?format=ndjson&namespaceKey=${namespace}`,
        { agent: false, headers: { authorization: `Bearer ${token}` } },
        (response) => resolve({ status: response.statusCode ?? 0, end: () => asked.destroy() }),
      )
      asked.on('error', reject)
    })
  const mine = []
  for (let n = 0; n < 4; n++) mine.push(await open(service.token))
  t.strictSame(
    mine.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.equal((await open(service.token)).status, 429)
  t.equal((await open(other.clientToken)).status, 429, 'a token that this one made')
  const theirs = await open(viewer.clientToken, 'default')
  t.equal(theirs.status, 200, 'a token without `audit.read` counts apart')
  t.equal((await open(viewer.clientToken, 'default')).status, 503)
  for (const { end } of [...mine, theirs]) end()
  await eventually(async () => {
    const again = await open(service.token)
    again.end()
    return again.status === 200
  }, 'the slots to be free')
})
