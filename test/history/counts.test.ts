import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { type Period, stepOf } from '../../src/history/counts.ts'
import { settled } from '../../src/projections/history/log-marks.ts'
import type { EventFilter } from '../../src/verifier/export/filter.ts'
import { eventLog, randomEvent, randomOf } from './event-log.ts'

const EVENTS = 5_000
const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? Date.now() % 1_000_000)
t.comment(`seed ${seed}: set ROLLCALL_TEST_SEED to repeat`)
const random = randomOf(seed)
const never = new AbortController().signal
const FROM = Date.UTC(2026, 0, 1)
const only = (...any: readonly string[]) => ({ any, none: [] })

/** Counters of refusals, logins and readings, which the random events lack. */
const counter = (n: number) =>
  random.of([
    { stream: `refusal-d+${n}`, type: 'RefusalsSummarised', data: { total: 5, byReason: { a: 2, b: 3 } } },
    { stream: `login-${n}`, type: 'LoginStarted', data: { method: 'oidc', provider: 'acme' } },
    { stream: `history-d+${n}`, type: 'HistoryRead', data: { requests: 7 } },
    { stream: `history-d+${n}`, type: 'HistoryExported', data: {} },
    {
      stream: `refusal-d+${n}`,
      type: 'AuthenticationRefused',
      data: { reason: 'service_account_token_invalid', serviceAccount: 'a/b', more: 3 },
    },
  ])

const written = async (indexed: boolean) => {
  const log = eventLog()
  for (let n = 0; n < EVENTS; n++) {
    const event = randomEvent(random, n)
    const { data, ...other } = random.chance(0.1) ? counter(n) : { ...event, data: undefined }
    log.append(data ? { ...event, ...other, data: JSON.stringify(data) } : event)
  }
  if (indexed) await log.project()
  return { log, head: (await log.history.head())! }
}

/** Times of the events that pass in a period of settled times, computed independently of the service. */
const timesOf = (all: readonly Stored[], passes: (record: Stored) => boolean, { from, to }: Period) => {
  const times: number[] = []
  let latest = ''
  for (const record of all) {
    latest = settled(latest, record)
    if (Date.parse(latest) >= to) break
    const time = Date.parse(record.time)
    if (Date.parse(latest) >= from && time >= from && passes(record)) times.push(time)
  }
  return times
}

await t.test('a histogram equals a plain count of matching events, with and without the index', async (t) => {
  const filters: readonly (readonly [EventFilter, (record: Stored) => boolean])[] = [
    [{}, () => true],
    [{ type: only('FlagUpdated') }, ({ type }) => type === 'FlagUpdated'],
    [{ category: { any: [], none: ['token'] } }, ({ stream }) => !stream.startsWith('token-')],
    [{ q: 'flag-shop' }, ({ stream }) => stream.startsWith('flag-shop')],
  ]
  for (const indexed of [true, false]) {
    const { log, head } = await written(indexed)
    for (const [filter, passes] of filters)
      for (let n = 0; n < 5; n++) {
        const from = FROM + random.below(EVENTS) * 1000
        const period = { from, to: from + 1 + random.below(EVENTS * 1000) }
        const most = 1 + random.below(240)
        const found = await log.history.histogram({ filter, bounds: {}, period, most }, head, never)
        const times = timesOf(log.all, passes, period)
        t.equal(found.exact, true)
        t.ok(found.buckets.length <= most)
        for (const { start, count } of found.buckets) {
          if (start % (found.step * 1000) !== 0) t.fail(`${start} is no multiple of ${found.step} s`)
          const end = start + found.step * 1000
          if (count !== times.filter((time) => time >= start && time < end).length) t.fail(`count at ${start}`)
        }
        t.equal(found.total, times.length)
      }
  }
})

await t.test('a histogram uses the smallest step that needs no more than the requested buckets', (t) => {
  const day = 86_400_000
  for (const [to, most, step] of [
    [1, 1, 1],
    [60_000, 60, 1],
    [60_001, 60, 5],
    [day, 24, 3600],
    [day, 23, 21_600],
    [400 * day, 240, 604_800],
    [36_500 * day, 240, 6 * 2_592_000],
  ] as const)
    t.equal(stepOf({ from: 0, to }, most), step, `${to} ms in ${most}`)
  t.equal(stepOf({ from: 999, to: 1001 }, 1), 5, 'a step is not divided by the begin of the period')
  t.equal(stepOf({ from: 5, to: 5 }, 1), 1)
  t.end()
})

type Parsed = { readonly [name: string]: unknown }

await t.test('statistics of events equal a count over the whole log, with and without the index', async (t) => {
  const period = { from: FROM - 10_000, to: FROM + EVENTS * 2000 }
  for (const indexed of [true, false]) {
    const { log, head } = await written(indexed)
    const parsed = log.all.map(({ type, stream, data }) => ({ type, stream, data: JSON.parse(data) as Parsed }))
    const sum = (type: string, member: string) =>
      parsed.reduce((all, { type: one, data }) => all + (one === type ? ((data[member] as number) ?? 0) : 0), 0)
    const count = (test: (record: (typeof parsed)[number]) => boolean) => parsed.filter(test).length
    const rows = await log.history.statistics({ period, bucketMs: undefined, by: undefined }, head, never)
    t.strictSame(rows, [
      {
        tokensIssued: count(({ type }) => type.startsWith('TokenIssued')),
        tokensDeleted: count(({ type }) => type === 'TokenRevoked'),
        tokensExpired: count(({ type }) => type === 'TokenExpired'),
        loginsStarted: count(({ type }) => type === 'LoginStarted'),
        loginsCompleted: 0,
        loginsRefused: count(({ type }) => type === 'LoginRefused'),
        exchangesIssued: count(({ type, data }) => type.startsWith('TokenIssued') && data['method'] === 'orchestrator'),
        exchangesRefused:
          count(({ type, data }) => type === 'AuthenticationRefused' && data['serviceAccount'] !== undefined) +
          sum('AuthenticationRefused', 'more'),
        requestsRefused: sum('RefusalsSummarised', 'total'),
        flagChanges: count(({ stream }) => stream.startsWith('flag-')),
        segmentChanges: count(({ stream }) => stream.startsWith('segment-')),
        historyReads: sum('HistoryRead', 'requests') + count(({ type }) => type === 'HistoryExported'),
      },
    ])
    const byReason = await log.history.statistics({ period, bucketMs: undefined, by: 'reason' }, head, never)
    const [a, b] = ['a', 'b'].map((by) => byReason.find((row) => row.by === by)!.requestsRefused)
    t.equal(a! + b!, rows[0]!.requestsRefused)
    t.equal(
      byReason.reduce((all, row) => all + row.loginsRefused, 0),
      rows[0]!.loginsRefused,
    )
    for (const by of ['method', 'provider', 'namespaceKey'] as const) {
      const hourly = await log.history.statistics({ period, bucketMs: 3_600_000, by }, head, never)
      t.ok(hourly.length > 1)
      for (const name of ['tokensIssued', 'flagChanges', 'historyReads', 'requestsRefused'] as const)
        t.equal(
          hourly.reduce((all, row) => all + row[name], 0),
          rows[0]![name],
          `${name} by ${by}`,
        )
      t.strictSame(
        hourly,
        hourly.toSorted((one, other) => one.start! - other.start!),
      )
    }
    const issued = await log.history.statistics({ period, bucketMs: undefined, by: 'method' }, head, never)
    for (const { by, tokensIssued } of issued)
      t.equal(
        tokensIssued,
        count(({ type, data }) => type.startsWith('TokenIssued') && data['method'] === by),
        `${by}`,
      )
  }
})

await t.test('statistics of events with more than 10,000 rows are refused', async (t) => {
  const { append, history } = eventLog()
  const event = randomEvent(random, 0)
  for (let n = 0; n <= 10_000; n++)
    append({ ...event, stream: `flag-n+${n}`, type: 'FlagUpdated', data: JSON.stringify({ namespace: `n${n}` }) })
  const wanted = { period: { from: 0, to: FROM * 2 }, bucketMs: undefined, by: 'namespaceKey' } as const
  await t.rejects(history.statistics(wanted, await history.head(), never), {
    message: 'invalid field bucket: too many rows',
  })
})
