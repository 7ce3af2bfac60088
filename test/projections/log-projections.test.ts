import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { EventLog } from '../../src/events/log.ts'
import { resources } from '../../src/projections/all.ts'
import { START } from '../../src/projections/engine/checkpoints.ts'
import { rebuild } from '../../src/projections/engine/rebuild.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import type { LogProjection } from '../../src/projections/history/log-marks.ts'
import { type Mark, markKey } from '../../src/projections/history/log-marks.ts'
import { logMarksAndStates, rowOf, type State } from '../../src/projections/history/stream-states.ts'
import { project } from '../../src/projections/projection.ts'
import type { Row, View, Views } from '../../src/projections/views.ts'
import { portOf } from '../adapters/embedded/store.ts'
import { memoryLog } from '../memory-log.ts'
import { namespaceCreated } from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'

const clock = virtualClock()
const key = new Uint8Array(32)
const big = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)
const unbig = (_: string, value: unknown) =>
  typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value

let versions = 97
/** Chronicles with new versions, not built yet. */
const fresh = () => {
  const suffix = String.fromCodePoint(versions++)
  return logMarksAndStates(key).map((chronicle) => ({ ...chronicle, name: `${chronicle.name}_${suffix}` }))
}
const second = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()

const event = (type: string, data: object, time = second(0)) => ({
  id: randomUUID(),
  type,
  time,
  data: JSON.stringify(data),
  meta: '{}',
})
const made = (name: string, time?: string) => event('NamespaceCreated', { ...namespaceCreated.data, key: name }, time)
const renamed = (name: string, to: string, time?: string) =>
  event('NamespaceUpdated', { key: name, name: { from: 'a', to } }, time)

const views = await (await portOf(t, 'views')).open()
t.teardown(views.close)

const scanned = async (views: Views, view: View) => {
  const rows: Row[] = []
  for await (const page of views.scan(view)) rows.push(...page)
  return rows
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ key, position, doc }) => [key, String(position), JSON.parse(JSON.stringify(doc)) as unknown])
}

/** Follows the log until the views are caught up. */
const followed = async (log: EventLog, views: Views, chronicles: readonly LogProjection[]) => {
  const run = runner({
    clock,
    log,
    views,
    projections: [],
    chronicles,
    remember: () => undefined,
    onError: (error) => {
      throw error
    },
  })
  await run.start()
  const isThere = await run.viewsReached(chronicles[0]!, await log.head(), 60_000)
  await run.close()
  return isThere
}

await t.test('stored states for past reads are the same after any interruption or rebuild', async (t) => {
  const log = memoryLog({ pageSize: 70 })
  await log.append('namespace-ns', [made('ns')], 'none')
  const live = fresh()
  t.ok(await followed(log, views, live))
  for (let n = 0; n < 9; n++) {
    const events = Array.from({ length: 67 }, (_, m) => renamed('ns', `${n} ${m}`, second((n * 31) % 7)))
    await log.append('namespace-ns', events, BigInt(n * 67))
    if (n % 3 === 0) t.ok(await followed(log, views, live))
  }
  t.ok(await followed(log, views, live))
  const built = fresh()
  let pages = 5
  const torn: EventLog = {
    ...log,
    readAll: async function* (after, to) {
      for await (const page of log.readAll(after, to)) {
        if (pages-- === 0) throw new Error('torn')
        yield page
      }
    },
  }
  await t.rejects(rebuild({ clock, log: torn, views }, built), /torn/)
  await rebuild({ clock, log, views }, built)
  for (const [n, chronicle] of built.entries()) {
    const rows = await scanned(views, chronicle)
    t.ok(rows.length > 2, `${rows.length} of ${chronicle.name}`)
    t.strictSame(await scanned(views, live[n]!), rows)
  }
})

await t.test('the state of a resource is stored at every 32nd revision for past reads', async (t) => {
  const [log, [, states], model] = [
    memoryLog({ pageSize: 50 }),
    fresh(),
    resources.find(({ name }) => name === 'namespaces')!,
  ]
  await log.append('namespace-ns', [made('ns'), ...Array.from({ length: 99 }, (_, n) => renamed('ns', `${n}`))], 'none')
  await rebuild({ clock, log, views }, [states!])
  const rows: Row<State>[] = []
  for await (const page of views.scan<State>(states!)) rows.push(...page)
  t.strictSame(
    rows.map(({ doc }) => doc!.revision),
    ['31', '63', '95'],
  )
  let row: Row | undefined
  for (const stored of log.all) {
    row = project(model, row, stored)
    const kept = rows.find(({ doc }) => doc!.revision === String(row!.revision))
    if (kept) t.strictSame(rowOf(model, kept.doc!), JSON.parse(JSON.stringify(row, big), unbig))
  }
})
await t.test('a large document is stored at every 256th revision, and an unreadable one never', async (t) => {
  const [log, [, states]] = [memoryLog({ pageSize: 100 }), fresh()]
  const large = 'x'.repeat(9_000)
  await log.append('namespace-ns', [made('ns'), ...Array.from({ length: 600 }, () => renamed('ns', large))], 'none')
  await log.append('namespace-odd', [made('odd'), event('NamespaceMoved', { key: 'odd' })], 'none')
  await log.append(
    'namespace-odd',
    Array.from({ length: 70 }, () => renamed('odd', 'x')),
    1n,
  )
  await rebuild({ clock, log, views }, [states!])
  t.strictSame(
    (await scanned(views, states!)).map(([key]) => key),
    [255, 511].map((n) => `namespace-ns@${String(n).padStart(16, '0')}`),
  )
})

await t.test('stored times of the log never decrease, whatever the clocks of the instances show', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ count: fc.integer({ min: 1, max: 400 }), time: fc.nat(50) }), {
        minLength: 1,
        maxLength: 5,
      }),
      async (batches) => {
        const log = memoryLog({ pageSize: 64 })
        for (const [n, { count, time }] of batches.entries())
          await log.append(
            `namespace-${n}`,
            [
              made(`${n}`, second(time)),
              ...Array.from({ length: count - 1 }, () => renamed(`${n}`, 'x', second(time))),
            ],
            'none',
          )
        const [view] = fresh()
        await rebuild({ clock, log, views }, [view!])
        let time = ''
        for (const [n, stored] of log.all.entries()) {
          if (stored.time > time) ({ time } = stored)
          const row = await views.get<Mark>(view!, markKey(n))
          if (n % 256 === 0) t.match(row?.doc, { index: n, at: Number(stored.position), time })
          else if (row) t.fail(`a mark at ${n}`)
        }
      },
    ),
    { numRuns: 8 },
  )
})

await t.test('a checkpoint of stored past states does not promise that their rows exist', async (t) => {
  const [log, chronicles] = [memoryLog(), fresh()]
  await log.append('namespace-ns', [made('ns')], 'none')
  await rebuild({ clock, log, views }, chronicles)
  for (const chronicle of chronicles)
    t.match(await views.checkpoint(chronicle), { ...START, position: 10n, events: 1, event: String, log: String })
})
