import { BSON } from 'mongodb'
import t from 'tap'
import { toDocument } from '../../src/adapters/mongodb/rows.ts'
import { flag } from '../../src/commands/flag/flag.ts'
import type { Flag } from '../../src/commands/flag/state.ts'
import { segment } from '../../src/commands/segment.ts'
import { MOST_BYTES } from '../../src/commands/size.ts'
import type { Constraint } from '../../src/events/segment.ts'
import { given, refusalOf } from '../given.ts'
import { constraint, flagCreated, ofFlag, ofSegment, rolloutAdded, segmentCreated, variantAdded } from '../samples.ts'

const MIB = 1_048_576
/** Maximum size in bytes of a MongoDB document. */
const DOCUMENT = 16 * MIB
const tooLarge = (what: string) => `${what} must not be larger than 7 MiB with all its parts`
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const many = <T>(count: number, part: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => part(n))

const variant = (n: number, attachment = '') => ({ id: uuid(n), key: String(n), name: '', description: '', attachment })
const large = JSON.stringify('x'.repeat(1_023_998))
const of = <T extends string>(type: T, n: number, attachment: string) =>
  ({ type, data: { ...ofFlag, variant: variant(n, attachment) } }) as const

await t.test('a flag has at most 7 MiB, and a larger one may only shrink', async (t) => {
  const full = many(7, (n) => of('VariantAdded', n, large))
  const history = given(flag)
  const { when } = history(flagCreated, ...full)
  when('AddVariant', { ...ofFlag, variant: variant(7, large) }).refused('invalid_argument', tooLarge('flag "ns/f"'))
  when('AddVariant', { ...ofFlag, variant: variant(7) }).then(of('VariantAdded', 7, ''))
  when('RemoveVariant', { ...ofFlag, id: uuid(0) }).then({
    type: 'VariantRemoved',
    data: { ...ofFlag, variant: uuid(0), wasDefault: false, distributions: [] },
  })

  const before = history(flagCreated, ...full, of('VariantAdded', 7, large), of('VariantAdded', 8, large))
  before.when('AddVariant', variantAdded('v').data).refused('invalid_argument')
  before.when('UpdateVariant', { ...ofFlag, variant: variant(0, '{}') }).then({
    type: 'VariantUpdated',
    data: { ...ofFlag, variant: { id: uuid(0), attachment: { from: large, to: '{}' } } },
  })
  before.when('DeleteFlag', ofFlag).then({ type: 'FlagDeleted', data: ofFlag })
  before
    .when('VoidReservation', { ...ofFlag, reservation: 'c' })
    .then({ type: 'ReservationVoided', data: { ...ofFlag, reservation: 'c' } })
  t.ok(JSON.stringify(before.state.variants).length > MOST_BYTES)
})

await t.test('the size of a segment is limited in bytes of UTF-8', async () => {
  const added = (n: number, value: string) =>
    ({ type: 'ConstraintAdded', data: { ...ofSegment, constraint: { ...constraint, id: uuid(n), value } } }) as const
  const text = (bytes: number) => 'é'.repeat(bytes / 2)
  const { when } = given(segment)(segmentCreated, ...many(111, (n) => added(n, text(65_536))))
  when('AddConstraint', added(111, text(65_536)).data).refused('invalid_argument', tooLarge('segment "ns/s"'))
  when('AddConstraint', added(111, text(32_768)).data).then(added(111, text(32_768)))
  const attached = { ...ofSegment, flag: 'f', reservation: 'c', reservedAt: '2026-01-01T00:00:00.000Z' }
  when('AttachSegment', attached).then({ type: 'SegmentAttached', data: attached })
})

await t.test('the size of a flag includes the texts of rollouts, but no percentages and ranks', async (t) => {
  const weighed = (rollout: object) =>
    flag.weight!(given(flag)(flagCreated, rolloutAdded({ ...threshold, ...rollout })).state)
  const threshold = { id: 'o1', rank: 1, description: '', type: 'threshold', percentage: 5, value: false } as const
  t.equal(weighed({ rank: 12, percentage: 33.33, value: true }), weighed({}))
  t.equal(weighed({ description: 'named' }), weighed({}) + 5)
})

const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
const timed = <T extends object>(parts: readonly T[]) => parts.map((part) => ({ ...part, ...times }))
const keysOf = (part: object) =>
  'segments' in part
    ? { ...part, segments: (part.segments as Flag['rules'][number]['segments']).map((use) => use.segment) }
    : part
const empty: Flag = { ...given(flag)(flagCreated).state, metadata: {} }
const rule = { rank: 1, segments: [], operator: 'or' as const, distributions: [] }

/** Flags with minimal parts of one type, whose documents are largest compared to the counted size. */
const shapes: Readonly<Record<string, (count: number) => Flag>> = {
  variants: (count) => ({ ...empty, variants: many(count, (n) => variant(n)) }),
  rules: (count) => ({ ...empty, rules: many(count, (n) => ({ ...rule, id: uuid(n) })) }),
  distributions: (count) => ({
    ...empty,
    rules: [
      { ...rule, id: uuid(0), distributions: many(count, (n) => ({ id: uuid(n), variantId: uuid(0), rollout: 0 })) },
    ],
  }),
  segments: (count) => ({
    ...empty,
    rules: [
      { ...rule, id: uuid(0), segments: [...many(count, (n) => ({ segment: String(n), reservation: uuid(n) }))] },
    ],
  }),
  thresholds: (count) => ({
    ...empty,
    rollouts: many(count, (n) => ({
      id: uuid(n),
      rank: n,
      description: '',
      value: true,
      type: 'threshold',
      percentage: 0,
    })),
  }),
}
const documentOf = ({ voided: _voided, ...state }: Flag) => ({
  ...state,
  ...times,
  variants: timed(state.variants),
  rules: timed(state.rules.map((one) => ({ ...(keysOf(one) as typeof one), distributions: timed(one.distributions) }))),
  rollouts: timed(state.rollouts.map(keysOf)),
  // Metadata with the largest growth: 64 KiB in a list of digits.
  metadata: { a: many(32_700, () => 1) },
})
const bson = (doc: object) => BSON.calculateObjectSize({ _id: 'x'.repeat(511), doc: toDocument(doc) })

for (const [name, shape] of Object.entries(shapes))
  await t.test(`the largest flag of ${name} with the largest metadata fits into a MongoDB document`, async (t) => {
    const bytes = JSON.stringify(shape(1000)).length / 1000
    const fits = (count: number) =>
      refusalOf(() =>
        flag.decide.UpdateFlag(shape(count), { ...ofFlag, name: 'Longer', description: '', enabled: true }),
      ) === undefined
    const least = Math.floor((MOST_BYTES * 0.95) / bytes)
    t.ok(fits(least), `${least} are admitted`)
    t.notOk(fits(Math.ceil((MOST_BYTES * 1.05) / bytes)), 'more are not')
    const size = bson(documentOf(shape(Math.ceil(MOST_BYTES / bytes))))
    t.ok(size < DOCUMENT, `${(size / MIB).toFixed(1)} MiB`)
    t.comment(`${name}: ${(size / MIB).toFixed(1)} MiB`)
  })

await t.test('the largest segment fits into a MongoDB document', async (t) => {
  const least = (n: number): Constraint => ({
    id: uuid(n),
    type: 'string',
    property: 'a',
    operator: 'eq',
    value: 'b',
    description: '',
  })
  const count = Math.ceil(MOST_BYTES / JSON.stringify(least(0)).length)
  const size = bson({ ...ofSegment, ...times, constraints: timed(many(count, least)) })
  t.ok(size < DOCUMENT, `${(size / MIB).toFixed(1)} MiB`)
})
