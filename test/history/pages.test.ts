import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import type { RangeBounds } from '../../src/history/ranges.ts'
import { settled } from '../../src/projections/history/log-marks.ts'
import type { Row } from '../../src/projections/views.ts'
import type { EventFilter, FilterValues, Listed } from '../../src/verifier/export/filter.ts'
import { filterOfTexts, LISTED } from '../../src/verifier/export/filter.ts'
import { eventLog, type Random, randomEvent, randomOf, valueFor } from './event-log.ts'

/** Size of the test; `ROLLCALL_TEST_HISTORY=20000x2000` repeats it at the size of the contract. */
const [EVENTS, FILTERS] = (process.env['ROLLCALL_TEST_HISTORY'] ?? '5000x100').split('x').map(Number) as [
  number,
  number,
]
const WRITERS = 8
/** Maximum result of a count. */
const MOST = 10_000
const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? Date.now() % 1_000_000)
t.comment(`seed ${seed}: set ROLLCALL_TEST_SEED to repeat`)
const random = randomOf(seed)

const never = new AbortController().signal

type Parsed = { readonly [name: string]: unknown }

/** Values of an event for each filter, computed independently of the service. */
const valuesOf = (record: Stored): Record<Listed, readonly unknown[]> => {
  const { stream, type } = record
  const data = JSON.parse(record.data) as Parsed
  const meta = JSON.parse(record.meta) as Parsed & { readonly actor: Parsed }
  const [category, ...rest] = stream.split('-')
  const id = rest.join('-')
  const reason = data['reason'] as string | undefined
  const failed = ['LoginRefused', 'AuthenticationRefused'].includes(type)
  return {
    type: [type.replace(/\.v\d+$/, '')],
    category: [category],
    stream: [stream],
    actor: [meta.actor['kind'], meta.actor['id']],
    tokenId: [category === 'token' ? id : undefined, data['tokenId'], meta.actor['id']],
    subject: [data['subject'] ?? meta['subject']],
    namespaceKey: [data['namespace'] ?? (category === 'namespace' ? data['key'] : undefined)],
    flagKey: [category === 'flag' ? id.split('+')[1] : undefined],
    segmentKey: [category === 'segment' ? id.split('+')[1] : undefined],
    method: [data['method'] ?? (data['serviceAccount'] && 'orchestrator')],
    provider: [data['provider']],
    outcome: [failed ? (['no_grant', 'right_missing'].includes(reason ?? '') ? 'denied' : 'failed') : 'success'],
    requestId: [meta['requestId']],
    correlationId: [meta['correlationId']],
    command: [meta['command']],
    route: [meta['route']],
  }
}
const known = new Map<Stored, Record<Listed, readonly unknown[]>>()
const valueOf = (name: Listed, record: Stored): readonly unknown[] => {
  const values = known.get(record) ?? valuesOf(record)
  known.set(record, values)
  return values[name]
}

const fits = (name: Listed, pattern: string, value: unknown): boolean => {
  if (typeof value !== 'string') return false
  if (!(name === 'type' || name === 'stream') || !pattern.includes('*')) return value === pattern
  return new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.+*?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  ).test(value)
}

const passes = (filter: EventFilter, record: Stored): boolean =>
  (filter.from === undefined || record.time >= filter.from) &&
  (filter.to === undefined || record.time < filter.to) &&
  LISTED.every((name) => {
    const wanted = filter[name]
    if (!wanted) return true
    const has = (patterns: readonly string[]) =>
      valueOf(name, record).some((value) => patterns.some((pattern) => fits(name, pattern, value)))
    return (wanted.any.length === 0 || has(wanted.any)) && !has(wanted.none)
  })

const someFilter = (random: Random): EventFilter => {
  const { below, of, chance } = random
  const filter: Partial<Record<Listed, FilterValues>> & { from?: string; to?: string } = {}
  for (let n = below(4); n > 0; n--) {
    const name = of(LISTED)
    const values = Array.from({ length: 1 + below(2) }, () => valueFor(name, random))
    filter[name] = chance(0.25)
      ? { any: [], none: values }
      : { any: values, none: chance(0.1) ? [valueFor(name, random)] : [] }
  }
  const instant = () => new Date(Date.UTC(2026, 0, 1) + below(EVENTS) * 1000).toISOString()
  if (chance(0.2)) filter.from = instant()
  if (chance(0.2)) filter.to = instant()
  return filter
}

const someRange = ({ below, chance }: Random): RangeBounds => ({
  ...(chance(0.15) && { after: BigInt(below(EVENTS * 10)) }),
  ...(chance(0.15) && { before: BigInt(below(EVENTS * 10)) }),
  ...(chance(0.15) && { afterIndex: below(EVENTS) - 1 }),
  ...(chance(0.15) && { beforeIndex: below(EVENTS) }),
})

/** Indexes of the events that pass, by a plain filter over all records. */
const plainly = (all: readonly Stored[], filter: EventFilter, bounds: RangeBounds): readonly number[] => {
  const { after, before, afterIndex = -1, beforeIndex = all.length } = bounds
  const found: number[] = []
  let time = ''
  for (const [index, record] of all.entries()) {
    time = settled(time, record)
    if (filter.to !== undefined && time >= filter.to) break
    if (filter.from !== undefined && time < filter.from) continue
    if (index <= afterIndex || index >= beforeIndex) continue
    if ((after !== undefined && record.position <= after) || (before !== undefined && record.position >= before))
      continue
    if (passes(filter, record)) found.push(index)
  }
  return found
}

const written = async () => {
  const log = eventLog()
  for (let n = 0; n < EVENTS; n++) log.append(randomEvent(random, n))
  await log.project(1 + random.below(3000))
  return log
}

/** All pages joined. `between` runs after each page. */
const joined = async (
  { history }: ReturnType<typeof eventLog>,
  asked: { readonly filter: EventFilter; readonly bounds: RangeBounds; readonly descending: boolean },
  between: () => unknown = () => {},
  size = () => 1 + random.below(500),
) => {
  const found: number[] = []
  let cursor: number | undefined
  for (let pages = 0; pages < 10_000; pages++) {
    const limit = size()
    const head = await history.head()
    const { next } = await history.page({ ...asked, limit, cursor }, head!, ({ index }) => found.push(index) > 0, never)
    if (next === undefined) return found
    between()
    cursor = next
  }
  throw new Error('the pages do not end')
}

await t.test('all pages of the event list equal a filter over the whole log', async (t) => {
  const log = await written()
  for (let n = 0; n < FILTERS; n++) {
    const [filter, bounds, descending] = [someFilter(random), someRange(random), random.chance(0.5)]
    const expected = plainly(log.all, filter, bounds)
    const found = await joined(log, { filter, bounds, descending })
    const what = JSON.stringify({ filter, descending, bounds }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    t.strictSame(descending ? found.toReversed() : found, expected, what)
  }
})

await t.test('all pages of the event list are complete while eight clients write', async (t) => {
  const log = await written()
  for (let n = 0; n < FILTERS / 5; n++) {
    const [filter, bounds, descending, before] = [
      someFilter(random),
      someRange(random),
      random.chance(0.5),
      log.all.length,
    ]
    const write = () => {
      for (let writer = 0; writer < WRITERS; writer++) log.append(randomEvent(random, log.all.length))
    }
    const found = await joined(log, { filter, bounds, descending }, write)
    // In descending order later events lie before the first page.
    const all = descending ? log.all.slice(0, before) : log.all
    t.strictSame(descending ? found.toReversed() : found, plainly(all, filter, bounds), JSON.stringify(filter))
  }
})

await t.test('missing and forged index entries slow a page of events down, but never change it', async (t) => {
  const log = await written()
  const filter = { type: { any: ['Token*'], none: [] }, from: '2026-01-01T00:20:00.000Z' }
  const expected = plainly(log.all, filter, {})
  const readWith = async () => {
    const before = log.read()
    const found = await joined(log, { filter, bounds: {}, descending: false }, undefined, () => 100)
    t.strictSame(found, expected)
    return log.read() - before
  }
  const whole = await readWith()
  for (const [n, [key, row]] of [...log.rows].entries()) {
    if (n % 3 === 0) log.rows.delete(key)
    else if (n % 3 === 1) log.rows.set(key, { ...row, doc: { ...row.doc, at: 10 } })
  }
  t.ok((await readWith()) >= whole)
  log.rows.clear()
  t.ok((await readWith()) > whole)
})

await t.test('the count of events equals the number of events that match the filter', async (t) => {
  const log = await written()
  const head = (await log.history.head())!
  for (let n = 0; n < FILTERS; n++) {
    const [filter, bounds] = [someFilter(random), someRange(random)]
    const value = plainly(log.all, filter, bounds).length
    const expected = value > MOST ? { value: MOST, exact: false } : { value, exact: true }
    t.strictSame(await log.history.count(bounds, filter, head, never), expected, JSON.stringify(filter))
  }
})

await t.test('the index of events saves reads of the log and is the same after any interruption', async (t) => {
  const log = eventLog()
  const again = eventLog()
  for (let n = 0; n < EVENTS; n++) {
    log.append(randomEvent(random, n))
    again.all.push(log.all[n]!)
    if (random.chance(0.001)) await log.project()
  }
  await again.project(999)
  await log.project()
  t.ok(log.indexRows.size > 0)
  t.strictSame(log.indexRows, again.indexRows)
  const filter = { requestId: { any: ['r-1'], none: [] }, type: { any: ['FlagUpdated'], none: [] } }
  const before = log.read()
  const expected = plainly(log.all, filter, {})
  t.strictSame(await joined(log, { filter, bounds: {}, descending: true }), expected.toReversed())
  t.ok(log.read() - before < EVENTS / 2, `${log.read() - before} events read for ${expected.length}`)
  t.strictSame(log.damages, [])
})

await t.test('damage to the index of events changes no page', async (t) => {
  const log = await written()
  const sound = new Map(log.indexRows)
  const rows = [...sound]
  const other = () => random.of(rows)[1]
  const damages: Record<string, (row: Row) => Row | undefined> = {
    removed: () => undefined,
    'of another segment': (row) => ({ ...row, doc: other().doc }),
    'forged with another name': (row) => ({ ...row, doc: { ...other().doc, id: row.key } }),
    'with other content': (row) => ({ ...row, doc: { ...row.doc, text: '{"positions":[],"times":[]}' } }),
  }
  for (const [what, damaged] of Object.entries(damages))
    for (let n = 0; n < 20; n++) {
      for (const [key, row] of rows) {
        const changed = random.chance(0.3) ? damaged(row) : row
        if (changed) log.indexRows.set(key, changed)
        else log.indexRows.delete(key)
      }
      const [filter, descending] = [someFilter(random), random.chance(0.5)]
      const found = await joined(log, { filter, bounds: {}, descending })
      t.strictSame(
        descending ? found.toReversed() : found,
        plainly(log.all, filter, {}),
        `${what}: ${JSON.stringify(filter)}`,
      )
    }
  t.ok(log.damages.length > 0)
})

await t.test('an index entry that does not match its event is reported, and the log is read instead', async (t) => {
  const log = await written()
  const filter = { type: { any: ['FlagUpdated'], none: [] }, namespaceKey: { any: ['shop'], none: [] } }
  const expected = plainly(log.all, filter, {})
  const other = log.all.find((record) => !passes(filter, record))!
  for (const at of [() => undefined, () => other, (position: bigint) => ({ ...other, position })]) {
    const before = log.damages.length
    log.readAt(at)
    t.strictSame(await joined(log, { filter, bounds: {}, descending: false }), expected)
    t.ok(log.damages.length > before)
  }
})

await t.test('a page of the event list ends after 20,000 events of which none matches', async (t) => {
  const EXAMINED = 20_000
  const { history, append } = eventLog()
  for (let n = 0; n <= EXAMINED; n++) append(randomEvent(random, n))
  const head = await history.head()
  const none = {
    filter: { requestId: { any: ['none'], none: [] } },
    bounds: {},
    descending: false,
    limit: 10,
    cursor: undefined,
  }
  const { through, next } = await history.page(none, head!, () => true, never)
  t.equal(next, EXAMINED - 1)
  t.equal(through!.index, EXAMINED - 1)
  const last = await history.page({ ...none, cursor: next }, head!, () => true, never)
  t.equal(last.through!.index, EXAMINED)
  t.equal(last.next, undefined)
  t.strictSame(await history.count({}, none.filter, head!, never), { value: 0, exact: true })
  t.strictSame(await history.count({}, {}, head!, never), { value: 10_000, exact: false })
  t.strictSame(await history.count({ afterIndex: EXAMINED - 5 }, {}, head!, never), { value: 5, exact: true })
})

await t.test('a manifest whose filter has a day that does not exist is refused', (t) => {
  for (const from of ['2026-02-30T00:00:00Z', '2026-04-31T00:00:00+01:00', '2026-01-01', 'now'])
    t.throws(() => filterOfTexts({ from }), { message: /has the malformed time/ }, from)
  t.match(filterOfTexts({ from: '2024-02-29T23:30:00-01:00' }), { from: '2024-03-01T00:30:00.000Z' })
  t.end()
})
