import t from 'tap'
import type { AnyEvent } from '../../src/events/define.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { projections } from '../../src/projections/all.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { type AnyProjection, project } from '../../src/projections/projection.ts'
import { fallShort, type Row } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'
import { memoryViews } from '../memory-views.ts'
import {
  constraint,
  flagCreated,
  namespaceCreated,
  ofFlag,
  ofSegment,
  segmentCreated,
  tokenIssued,
  variantAdded,
} from '../samples.ts'
import { virtualClock } from '../virtual-clock.ts'
import { timeOf } from './stored.ts'

/** History in which every resource is created, changed, deleted and created again, except the token. */
const history: readonly (readonly [stream: string, ...events: AnyEvent[]])[] = [
  ['namespace-ns', namespaceCreated],
  ['segment-ns+s', segmentCreated],
  ['segment-ns+s', { type: 'ConstraintAdded', data: { ...ofSegment, constraint } }],
  ['flag-ns+f', flagCreated],
  ['flag-ns+f', variantAdded('v1'), variantAdded('v2')],
  ['token-t1', tokenIssued],
  ['token-t1', { type: 'TokenExpiryChanged', data: { id: 't1', to: '2026-03-01T00:00:00.000Z' } }],
  ['namespace-ns', { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'Name', to: 'Other' } } }],
  ['flag-ns+f', { type: 'FlagUpdated', data: { ...ofFlag, enabled: { from: false, to: true } } }],
  ['segment-ns+s', { type: 'SegmentDeleted', data: ofSegment }],
  ['segment-ns+s', { ...segmentCreated, data: { ...segmentCreated.data, generation: 2 } }],
  ['flag-ns+f', { type: 'FlagDeleted', data: ofFlag }],
  ['flag-ns+f', { ...flagCreated, data: { ...flagCreated.data, generation: 2 } }],
  ['flag-ns+f', variantAdded('v3')],
  ['namespace-ns', { type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: true } }],
  ['namespace-ns', { ...namespaceCreated, data: { ...namespaceCreated.data, incarnation: 'life-2' } }],
  ['token-t1', { type: 'TokenRevoked', data: { id: 't1' } }],
]

/** Appends a step of the history and returns the events to apply. */
const appendTo = (log: EventLog) => {
  const next = new Map<string, bigint>()
  let told = 0
  return async ([stream, ...events]: (typeof history)[number]): Promise<readonly Stored[]> => {
    const from = next.get(stream) ?? 0n
    const appended = events.map(({ type, data }) => {
      const time = timeOf(told++)
      return { id: `event ${told}`, type, data: JSON.stringify(data), meta: '{}', time }
    })
    const { positions } = await log.append(stream, appended, from === 0n ? 'none' : from - 1n)
    next.set(stream, from + BigInt(events.length))
    return appended.map((event, n) => ({ ...event, stream, revision: from + BigInt(n), position: positions[n]! }))
  }
}

/** Instance that appends the whole history; write `nth` to the read model `of` fails. */
const lived = async (of: string | undefined, nth: number) => {
  const log = memoryLog()
  const written = new Map<string, number>()
  const store = memoryViews(({ name: call, view: { name } }) => {
    if (call !== 'put') return
    const n = written.get(name) ?? 0
    written.set(name, n + 1)
    if (name === of && n === nth) throw new Error(`write ${n} of ${name} is refused`)
  })
  const errors: unknown[] = []
  const lost: unknown[] = []
  const clock = virtualClock()
  const run = runner({
    clock,
    log,
    views: store.views,
    projections,
    remember: () => {},
    onError: (error) => errors.push(error),
    onLost: (error) => lost.push(error),
    has: async () => true,
  })
  await run.start()
  const append = appendTo(log)
  for (const step of history) {
    await run.applied(await append(step))
    await clock.settle()
  }
  // A refused write is retried after a quarter of a second.
  await clock.advance(250)
  const reached = await run.viewsReached(projections[0]!, await log.head(), 0)
  await run.close()
  return { log, store, written, errors, lost, reached }
}

/** Expected rows of a complete read model. Quiet events need not write a row, so only the content is compared. */
const folded = (projection: AnyProjection, events: readonly Stored[]): readonly Row[] => {
  const rows = new Map<string, Row>()
  for (const event of events)
    if (event.stream.startsWith(`${projection.category}-`))
      rows.set(event.stream, project(projection, rows.get(event.stream), event))
  return [...rows.values()]
}
const content = ({ key, changes, doc }: Row) => ({ key, changes, doc })

const clean = await lived(undefined, 0)

await t.test('each row is written once if no write fails', async (t) => {
  t.strictSame([clean.reached, clean.errors, clean.lost], [true, [], []])
  t.strictSame(Object.fromEntries(clean.written), {
    tokens: 3,
    namespaces: 4,
    flags: 6,
    segments: 4,
    namespaces_lives: 3,
    flags_lives: 3,
    segments_lives: 3,
  })
})

for (const [name, writes] of clean.written)
  for (let nth = 0; nth < writes; nth++)
    await t.test(`if write ${nth + 1} of ${name} fails, every row is written in the end`, async (t) => {
      const { log, store, errors, lost, reached } = await lived(name, nth)
      t.strictSame([reached, errors.map(String), lost], [true, [`Error: write ${nth} of ${name} is refused`], []])
      const all: Stored[] = []
      for await (const page of log.readAll(0n)) all.push(...page)
      for (const projection of projections) {
        const rows = [...store.rowsOf(projection).values()]
        const due = folded(projection, all)
        t.strictSame(rows.map(content), due.map(content), projection.name)
        const checkpoint = store.checkpoints.get(projection.name)!
        t.equal(checkpoint.position, all.at(-1)!.position)
        t.strictSame(await store.views.totals(projection), { rows: checkpoint.rows, changes: checkpoint.changes })
      }
    })

await t.test('a row that is older than the checkpoint is noticed', async (t) => {
  for (const projection of projections) {
    const checkpoint = clean.store.checkpoints.get(projection.name)!
    const rows = clean.store.rowsOf(projection)
    for (const [key, row] of rows) {
      rows.set(key, { ...row, changes: row.changes - 1n })
      t.ok(fallShort(await clean.store.views.totals(projection), checkpoint), projection.name)
      rows.set(key, row)
    }
    t.notOk(fallShort(await clean.store.views.totals(projection), checkpoint))
  }
})
