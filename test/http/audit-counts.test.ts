import t from 'tap'
import type { EventHistogram, EventStatistics, HistoryEvents } from '../../src/contract/history/events.ts'
import { startService } from '../start.ts'

const N = '/api/v1/namespaces/default'
const service = await startService(t)
const { request } = service
for (const key of ['a', 'b']) await request('POST', `${N}/flags`, { key, name: key, type: 'BOOLEAN_FLAG_TYPE' })
await request('PUT', `${N}/flags/a`, { name: 'a', enabled: true })
await request('POST', '/auth/v1/method/token', { name: 'ci', namespaceKey: 'default' })

const histogram = (search: string) => request<EventHistogram>('GET', `/audit/v1/histogram${search}`)
const statistics = (search: string) => request<EventStatistics>('GET', `/audit/v1/stats${search}`)

await t.test('a histogram counts the events that pass the filters', async (t) => {
  const { json } = await histogram('?type=FlagCreated')
  t.equal(json.total, 2)
  t.equal(json.exact, true)
  t.equal(
    json.buckets.reduce((sum, { count }) => sum + count, 0),
    2,
  )
  t.ok(json.from <= json.to && json.buckets.length <= 60)
  const all = (await histogram('?buckets=1')).json
  t.equal(all.buckets.length, 1)
  const { events } = (await request<HistoryEvents>('GET', `/audit/v1/events?to=${all.to}&limit=1000`)).json
  t.equal(all.total, events.length)
  t.equal((await histogram('?from=2030-01-01T00:00:00Z')).json.total, 0)
  const ancient = (await histogram('?from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999Z&buckets=1')).json
  t.equal(ancient.from, '1970-01-01T00:00:00.000Z')
  t.equal(ancient.buckets.length, 1)
})

await t.test('statistics count tokens and changes by time and property', async (t) => {
  const [row, ...others] = (await statistics('')).json.rows
  t.strictSame(others, [])
  t.match(row, { tokensIssued: 2, tokensDeleted: 0, flagChanges: 3, segmentChanges: 0, loginsStarted: 0 })
  t.notOk('start' in row! || 'by' in row!)
  const byNamespace = (await statistics('?by=namespaceKey&bucket=day')).json.rows
  t.equal(byNamespace.find(({ by }) => by === 'default')!.flagChanges, 3)
  t.match(byNamespace[0]!.start, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
  t.strictSame((await statistics('?to=2020-01-01T00:00:00Z')).json.rows, [])
  const csv = await statistics('?format=csv')
  t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  t.match(csv.text, /^start,by,tokensIssued,.*,historyReads\r\n,,2,0,0,/)
  for (const accept of ['text/csv', 'text/html;q=1, TEXT/CSV;q=0.1, application/json'])
    t.equal((await request('GET', '/audit/v1/stats', undefined, { accept })).text, csv.text, accept)
  for (const accept of ['application/json, text/csv', 'text/csv-schema', '*/*'])
    t.equal(
      (await request('GET', '/audit/v1/stats', undefined, { accept })).headers['content-type'],
      'application/json',
    )
})

await t.test('queries for statistics of events that are malformed are refused', async (t) => {
  for (const [path, message] of [
    ['/audit/v1/histogram?buckets=241', 'invalid field buckets: must be between 1 and 240'],
    ['/audit/v1/histogram?buckets=-1', 'invalid field buckets: must be between 1 and 240'],
    ['/audit/v1/histogram?type=Nothing', 'invalid field type: unknown value "Nothing"'],
    ['/audit/v1/histogram?flagKey=a', 'invalid field flagKey: needs namespaceKey'],
    ['/audit/v1/stats?bucket=week', 'invalid field bucket: unknown value "week"'],
    ['/audit/v1/stats?by=actor', 'invalid field by: unknown value "actor"'],
    ['/audit/v1/stats?format=sse', 'invalid field format: unknown value "sse"'],
  ] as const) {
    const { status, json } = await request<{ readonly message: string }>('GET', path)
    t.equal(status, 400, path)
    t.equal(json.message, message)
  }
  t.equal((await histogram('?from=-1h')).status, 400)
})
