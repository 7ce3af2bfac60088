import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { FlagEvent } from '../../src/events/flag.ts'
import type { NamespaceEvent } from '../../src/events/namespace.ts'
import type { SegmentEvent } from '../../src/events/segment.ts'
import { flagStore } from '../../src/projections/flag-memory/flag-store.ts'
import { type Compile } from '../../src/projections/flag-memory/namespace-state.ts'
import { flags } from '../../src/projections/flags.ts'
import { project } from '../../src/projections/projection.ts'
import { namespaces, segments } from '../../src/projections/resource-model.ts'
import type { Row } from '../../src/projections/views.ts'
import { constraint, flagCreated, namespaceCreated, ofFlag, ofSegment, ruleAdded, segmentCreated } from '../samples.ts'

type Event = FlagEvent | SegmentEvent | NamespaceEvent
type Fed = { readonly view: string; readonly row: Row }

/** Returns rows in the order of the events of a log, with positions over all streams. */
const fed = (events: readonly Event[]): Fed[] => {
  const rows = new Map<string, Row<never>>()
  return events.map((event, n) => {
    const { data } = event
    const [projection, id] =
      'flag' in data && !('namespace' in data)
        ? [namespaces, data.key]
        : 'namespace' in data
          ? [
              event.type.startsWith('Segment') || event.type.startsWith('Constraint') ? segments : flags,
              `${data.namespace}+${data.key}`,
            ]
          : [namespaces, data.key]
    const stream = `${projection.category}-${id}`
    const before = rows.get(stream)
    const stored = {
      id: String(n),
      type: event.type,
      data: JSON.stringify(data),
      meta: '{}',
      time: new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(n / 2))).toISOString(),
      stream,
      revision: (before?.revision ?? -1n) + 1n,
      position: BigInt(n + 1),
    }
    const row = project(projection as unknown as typeof flags, before, stored)
    rows.set(stream, row as unknown as Row<never>)
    return { view: projection.name, row }
  })
}

let compilations = 0
const compile: Compile<string> = ({ name, rules }, segment) => {
  compilations++
  const used = rules.flatMap((rule) =>
    rule.segments.map((key) => `${key}:${segment(key)?.constraints.length ?? 'missing'}`),
  )
  return [name, ...used].join(' ')
}
const holding = (...events: Event[]) => {
  const held = flagStore(compile)
  for (const { view, row } of fed(events)) held.set(view, row)
  return held
}

const flagOf = (key: string, incarnation = 'life-1') =>
  ({ ...flagCreated, data: { ...flagCreated.data, key, incarnation } }) as const
const segmentOf = (key: string, incarnation = 'life-1') =>
  ({ ...segmentCreated, data: { ...segmentCreated.data, key, incarnation } }) as const
const rule = ruleAdded('r1', 1, { segment: 's', reservation: 'u1' })
const constrained = { type: 'ConstraintAdded', data: { ...ofSegment, constraint } } as const
const attached = {
  type: 'SegmentAttached',
  data: { ...ofSegment, flag: 'f', reservation: 'u1', reservedAt: '' },
} as const
const ended = { type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: true } } as const
const again = { ...namespaceCreated, data: { ...namespaceCreated.data, incarnation: 'life-2' } } as const

await t.test('namespaces, flags and segments are found by key', async (t) => {
  const held = holding(namespaceCreated, flagCreated, segmentCreated)
  t.equal(held.namespace('ns')?.doc.name, 'Name')
  t.equal(held.flag('ns', 'f')?.doc.name, 'Flag')
  t.equal(held.flag('ns', 'f')?.changes, 1n)
  t.equal(held.segment('ns', 's')?.doc.name, 'Segment')
  for (const key of ['x', '__proto__', 'constructor']) {
    t.strictSame(
      [held.namespace(key), held.flag(key, 'f'), held.flag('ns', key), held.segment('ns', key), held.version(key)],
      Array(5).fill(undefined),
    )
    t.strictSame([held.flags(key), held.segments(key)], [[], []])
  }
})

await t.test('lists are in the order of creation, then of the log', async (t) => {
  const other = { ...namespaceCreated, data: { ...namespaceCreated.data, key: 'a' } } as const
  const held = holding(namespaceCreated, other, flagOf('z'), flagOf('b'), flagOf('a'), segmentOf('y'), segmentOf('c'))
  t.strictSame(
    held.namespaces().map(({ doc }) => doc.key),
    ['ns', 'a'],
  )
  t.strictSame(
    held.flags('ns').map(({ doc }) => doc.key),
    ['z', 'b', 'a'],
  )
  t.strictSame(
    held.segments('ns').map(({ doc }) => doc.key),
    ['y', 'c'],
  )
  t.equal(held.flags('ns'), held.flags('ns'), 'made once')
})

await t.test('flags and segments of an earlier namespace with the same key are hidden', async (t) => {
  const history = [namespaceCreated, flagCreated, segmentCreated, ended]
  const gone = holding(...history)
  t.strictSame(
    [gone.namespace('ns'), gone.flag('ns', 'f'), gone.compiled('ns', 'f'), gone.flags('ns')],
    [undefined, undefined, undefined, []],
  )
  const reborn = holding(...history, again, flagOf('g', 'life-2'))
  t.strictSame([reborn.flag('ns', 'f'), reborn.segment('ns', 's')], [undefined, undefined])
  t.strictSame(
    reborn.flags('ns').map(({ doc }) => doc.key),
    ['g'],
  )
  t.equal(reborn.compiled('ns', 'f'), undefined)
})

await t.test('compiled flags are dropped together with their namespace', async (t) => {
  const rows = fed([namespaceCreated, flagCreated, ended, again])
  const held = flagStore(compile)
  for (const { view, row } of rows.slice(0, 2)) held.set(view, row)
  t.equal(held.compiled('ns', 'f'), 'Flag')
  for (const { view, row } of rows.slice(2)) held.set(view, row)
  t.equal(held.compiled('ns', 'f'), undefined)
})

await t.test('a flag is compiled at its first use, and again only after it or its segments changed', async (t) => {
  const rows = fed([namespaceCreated, flagCreated, rule, flagOf('g'), segmentCreated, constrained, segmentOf('q')])
  const held = flagStore(compile)
  const feed = (from: number, to: number) => rows.slice(from, to).forEach(({ view, row }) => held.set(view, row))
  compilations = 0
  feed(0, 4)
  t.equal(compilations, 0)
  t.equal(held.compiled('ns', 'f'), 'Flag s:missing')
  t.equal(held.compiled('ns', 'g'), 'Flag')
  feed(4, 5)
  t.equal(held.compiled('ns', 'f'), 'Flag s:0', 'a segment that comes to be is seen')
  feed(5, 7)
  t.equal(held.compiled('ns', 'f'), 'Flag s:1')
  t.equal(held.compiled('ns', 'f'), 'Flag s:1')
  t.equal(held.compiled('ns', 'g'), 'Flag')
  t.equal(compilations, 4)
})

await t.test('the version of a namespace changes exactly when one of its flags or segments changes', async (t) => {
  const update = { type: 'FlagUpdated', data: { ...ofFlag, enabled: { from: false, to: true } } } as const
  const back = { type: 'FlagUpdated', data: { ...ofFlag, enabled: { from: true, to: false } } } as const
  const renamed = { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'Name', to: 'New' } } } as const
  const registered = {
    type: 'FlagRegistered',
    data: { key: 'ns', flag: 'f', reservation: 'c', reservedAt: '' },
  } as const
  const voided = { type: 'ReservationVoided', data: { ...ofFlag, reservation: 'u9' } } as const
  const other = { ...namespaceCreated, data: { ...namespaceCreated.data, key: 'other' } } as const
  const deleted = { type: 'FlagDeleted', data: ofFlag } as const
  const moves: [Event, boolean][] = [
    [namespaceCreated, true],
    [registered, false],
    [flagCreated, true],
    [update, true],
    [back, true],
    [renamed, false],
    [other, false],
    [segmentCreated, true],
    [attached, false],
    [constrained, true],
    [voided, false],
    [deleted, true],
    [voided, false],
    [flagCreated, true],
    [ended, true],
    [again, true],
  ]
  const held = flagStore(compile)
  const seen = new Set<bigint | undefined>()
  let last: bigint | undefined
  for (const [n, { view, row }] of fed(moves.map(([event]) => event)).entries()) {
    held.set(view, row)
    const version = held.version('ns')
    t.equal(version !== last, moves[n]![1], moves[n]![0].type)
    if (version !== last) t.notOk(version !== undefined && seen.has(version), 'and never comes back')
    seen.add((last = version))
  }
})

await t.test('flags are the same if their rows arrive in any order, repeatedly or with gaps', async (t) => {
  const rows = fed([
    namespaceCreated,
    flagCreated,
    rule,
    segmentCreated,
    attached,
    constrained,
    flagOf('g'),
    ended,
    again,
    flagOf('h', 'life-2'),
    segmentOf('s', 'life-2'),
  ])
  const last = [...new Map(rows.map((fed) => [`${fed.view} ${fed.row.key}`, fed])).values()]
  const shape = (list: readonly Fed[]) => {
    const held = flagStore(compile)
    for (const { view, row } of list) {
      held.set(view, row)
      held.compiled('ns', 'f')
      held.flags('ns')
    }
    return [held.version('ns'), held.namespaces(), held.flags('ns'), held.segments('ns'), held.compiled('ns', 'h')]
  }
  fc.assert(
    fc.property(fc.shuffledSubarray(rows), fc.shuffledSubarray(last, { minLength: last.length }), (some, all) => {
      assert.deepEqual(shape([...some, ...all]), shape(rows))
      assert.deepEqual(shape([...all, ...some]), shape(rows))
    }),
    { numRuns: 100 },
  )
  t.pass('equal on all instances')
})

await t.test('the data of flags and segments ends with their namespace, in any order of arrival', async (t) => {
  const rows = fed([
    namespaceCreated,
    flagCreated,
    rule,
    segmentCreated,
    flagOf('g'),
    ended,
    again,
    flagOf('g', 'life-2'),
    segmentOf('q', 'life-2'),
  ])
  const whole = new Map(rows.map(({ view, row }) => [`${view} ${row.key}`, row.doc]))
  const left = (held: ReturnType<typeof holding>) =>
    Object.fromEntries(held.rows().map(([view, { key, doc }]) => [`${view} ${key}`, doc]))
  const wanted = {
    ...Object.fromEntries(whole),
    'flags ns+f': { incarnation: 'life-1' },
    'segments ns+s': { incarnation: 'life-1' },
  }
  fc.assert(
    fc.property(fc.shuffledSubarray(rows, { minLength: rows.length }), (some) => {
      const held = flagStore(compile)
      for (const { view, row } of some) held.set(view, row)
      assert.deepEqual(left(held), wanted)
      assert.deepEqual([held.tally('ns').flags, held.tally('ns').segments], [1, 1])
      assert.deepEqual([held.bytes('flags', 'ns', 'f'), held.row('flags', 'ns+f')], [0, undefined])
      assert.equal(held.row('flags', 'ns+g')?.doc, whole.get('flags ns+g'))
      const restored = flagStore(compile)
      for (const [view, row] of held.rows()) restored.set(view, row)
      assert.deepEqual([left(restored), restored.version('ns')], [wanted, held.version('ns')])
    }),
    { numRuns: 200 },
  )
  const gone = holding(namespaceCreated, flagCreated, segmentCreated, ended)
  t.strictSame(left(gone)['flags ns+f'], { incarnation: 'life-1' }, 'also without a new namespace')
  const deleted = holding(namespaceCreated, flagCreated, { type: 'FlagDeleted', data: ofFlag })
  t.match(deleted.row('flags', 'ns+f'), { revision: 1n, doc: undefined }, 'a tombstone stays a row')
})

await t.test('the memory of flags ignores rows of other read models', async (t) => {
  const held = holding(namespaceCreated)
  held.set('tokens', { key: 't1', revision: 0n, position: 1n, changes: 1n, doc: {} })
  held.set('constructor', { key: 't1', revision: 0n, position: 1n, changes: 1n, doc: {} })
  t.equal(held.namespaces().length, 1)
})
