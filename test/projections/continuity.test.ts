import t from 'tap'
import { continuityOf, type Found, goneOf, type ViewFound } from '../../src/projections/engine/continuity.ts'
import type { Checkpoint } from '../../src/projections/views.ts'

const first = { event: 'one', position: 1n }
const at = (position: bigint, more: Partial<Checkpoint> = {}): Checkpoint => ({
  position,
  event: `event ${position}`,
  log: position === 0n ? '' : 'one',
  events: Number(position),
  rows: 3,
  changes: 5,
  ...more,
})
/** View at position 20 of a log with 30 events. */
const view = (more: Partial<ViewFound> = {}): ViewFound => ({
  name: 'tokens',
  checkpoint: at(20n),
  event: 'event 20',
  totals: { rows: 3, changes: 5 },
  newest: 20n,
  newestThere: false,
  ...more,
})
const found = (more: Partial<Found> = {}): Found => ({ first, head: 30n, bound: first, views: [view()], ...more })

/** Findings of a start, its decision, and the cause for each view that is behind. */
const rows: readonly [string, Found, string, ...string[]][] = [
  ['an empty store', found({ first: undefined, head: 0n, bound: undefined, views: [] }), 'fresh'],
  [
    'empty views and no event',
    found({
      first: undefined,
      head: 0n,
      bound: undefined,
      views: [view({ checkpoint: at(0n, { rows: 0, changes: 0 }) })],
    }),
    'fresh',
  ],
  ['no change', found(), 'same'],
  ['no views', found({ views: [view({ checkpoint: undefined })] }), 'same'],
  ['a log from before the binding', found({ bound: undefined }), 'same'],
  ['a log without views and binding', found({ bound: undefined, views: [] }), 'same'],
  ['views older than the log', found({ views: [view({ checkpoint: at(2n), event: 'event 2', newest: 2n })] }), 'same'],
  ['a row ahead of its checkpoint', found({ views: [view({ newest: 25n, newestThere: true })] }), 'same'],
  [
    'more rows and changes in the view than in its checkpoint',
    found({ views: [view({ totals: { rows: 4, changes: 9 } })] }),
    'same',
  ],
  ['the first event at another position', found({ bound: { event: 'one', position: 9n } }), 'same'],
  ['a log shorter than a checkpoint', found({ head: 10n, views: [view({ event: undefined })] }), 'behind', 'shorter'],
  ['another event at the checkpoint', found({ views: [view({ event: 'another' })] }), 'behind', 'forked'],
  ['no event at the checkpoint', found({ views: [view({ event: undefined })] }), 'behind', 'forked'],
  ['a row behind the head', found({ views: [view({ newest: 33n })] }), 'behind', 'shorter'],
  ['a row at a position without an event', found({ views: [view({ newest: 25n })] }), 'behind', 'forked'],
  [
    'fewer rows than in the checkpoint',
    found({ views: [view({ totals: { rows: 2, changes: 5 } })] }),
    'behind',
    'rows_missing',
  ],
  [
    'a row older than the checkpoint',
    found({ views: [view({ totals: { rows: 3, changes: 4 } })] }),
    'behind',
    'rows_missing',
  ],
  ['a view of another log', found({ views: [view({ checkpoint: at(20n, { log: 'two' }) })] }), 'behind', 'another_log'],
  [
    'a view at the start, bound to this log',
    found({
      views: [view({ checkpoint: at(0n, { log: 'one', rows: 0, changes: 0 }), newest: 2n, newestThere: true })],
    }),
    'same',
  ],
  [
    'a view at the start, bound to another log',
    found({
      views: [view({ checkpoint: at(0n, { log: 'two', rows: 0, changes: 0 }), newest: 2n, newestThere: true })],
    }),
    'behind',
    'another_log',
  ],
  [
    'a view at the start with rows, not bound to a log',
    found({ views: [view({ checkpoint: at(0n, { rows: 0, changes: 0 }), newest: 2n, newestThere: true })] }),
    'behind',
    'rows_missing',
  ],
  [
    'a view at the start with a row that the log lacks, not bound to a log',
    found({ views: [view({ checkpoint: at(0n, { rows: 0, changes: 0 }), newest: 99n, newestThere: false })] }),
    'behind',
    'shorter',
  ],
  [
    'a view at the start without rows, not bound to a log',
    found({
      views: [view({ checkpoint: at(0n, { rows: 0, changes: 0 }), totals: { rows: 0, changes: 0 }, newest: 0n })],
    }),
    'same',
  ],
  [
    'two of three views',
    found({ views: [view({ totals: { rows: 2, changes: 2 } }), view(), view({ event: undefined })] }),
    'behind',
    'rows_missing',
    'forked',
  ],
  ['another log', found({ first: { event: 'two', position: 1n } }), 'another'],
  [
    'another log, known by its views only',
    found({ first: { event: 'two', position: 1n }, bound: undefined }),
    'another',
  ],
  ['an emptied log', found({ first: undefined, head: 0n }), 'another'],
  ['an emptied log without views', found({ first: undefined, head: 0n, views: [] }), 'another'],
  ['an emptied log, known by its views only', found({ first: undefined, head: 0n, bound: undefined }), 'another'],
]

for (const [name, given, is, ...causes] of rows)
  await t.test(`after ${name} the read models have this state: ${is} ${causes.join()}`, async (t) => {
    const continuity = continuityOf(given)
    t.equal(continuity.is, is)
    t.strictSame(continuity.is === 'behind' ? continuity.views.map(({ cause }) => cause) : [], causes)
  })

await t.test('another log is reported with the first event found and the one expected', async (t) => {
  t.strictSame(continuityOf(found({ first: undefined, head: 0n })), { is: 'another', found: undefined, known: 'one' })
})

await t.test('lost events are counted', async (t) => {
  const gone = (cause: Parameters<typeof goneOf>[0]['cause'], more: Partial<ViewFound>, events: number, head: bigint) =>
    goneOf({ view: view(more), cause }, events, head)
  t.equal(gone('shorter', {}, 12, 1000n), 8, 'what the checkpoint counts and the log has not')
  t.equal(gone('shorter', { newest: 25n }, 18, 18n), 7, 'to the event where positions count them')
  t.equal(gone('shorter', { newest: 5000n }, 18, 1800n), 2, 'and not where they do not')
  t.equal(gone('forked', {}, 30, 30n), 1, 'one at least: that at the checkpoint')
  t.equal(gone('rows_missing', {}, 12, 12n), 0)
  t.equal(gone('another_log', {}, 12, 12n), 0)
})
