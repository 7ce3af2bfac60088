import t from 'tap'
import { wireName } from '../../src/events/define.ts'
import type { FlagEvent } from '../../src/events/flag.ts'
import { tokenEvents } from '../../src/events/token.ts'
import { flags } from '../../src/projections/flags.ts'
import { project } from '../../src/projections/projection.ts'
import { namespaces, segments } from '../../src/projections/resource-model.ts'
import { tokens } from '../../src/projections/tokens.ts'
import {
  constraint,
  distributionAdded,
  flagCreated,
  namespaceCreated,
  ofFlag,
  ofSegment,
  rolloutAdded,
  ruleAdded,
  segmentCreated,
  tokenIssued,
  variantAdded,
} from '../samples.ts'
import { rowAfter, timeOf, told } from './stored.ts'

const flagDoc = (...events: FlagEvent[]) => rowAfter(flags, 'flag-ns+f', [flagCreated, ...events])?.doc
const use = { segment: 's', reservation: 'u1' }

await t.test('every field of TokenIssued is in the token record, or is documented as only in the log', async (t) => {
  const { schema, version } = tokenEvents.TokenIssued
  const data = schema.properties
  const ofType: Readonly<Record<string, unknown>> = { object: {}, boolean: true, integer: 1, array: [{ place: '*' }] }
  const one = (name: string, { type, enum: words }: { readonly type?: unknown; readonly enum?: readonly unknown[] }) =>
    words?.[0] ?? ofType[String(type)] ?? name
  const everything = Object.fromEntries(Object.entries(data).map(([name, schema]) => [name, one(name, schema)]))
  const [stored] = told('token-id', [{ type: wireName('TokenIssued', version), data: everything }])
  const record = project(tokens, undefined, stored!).doc!
  const left = Object.keys(data).filter((name) => !(name in record))
  t.strictSame(left.sort(), ['bootstrap', 'issuedAt', 'login'])
})

await t.test('a namespace has the times of its creation and last change', async (t) => {
  const updated = { type: 'NamespaceUpdated', data: { key: 'ns', name: { from: 'Name', to: 'New' } } } as const
  const registered = {
    type: 'FlagRegistered',
    data: { key: 'ns', flag: 'f', reservation: 'c', reservedAt: timeOf(0) },
  } as const
  const unregistered = { type: 'FlagUnregistered', data: { key: 'ns', flag: 'f', reservation: 'c' } } as const
  const row = rowAfter(namespaces, 'namespace-ns', [namespaceCreated, updated, registered, unregistered])
  t.strictSame(row?.doc, {
    ...namespaceCreated.data,
    name: 'New',
    order: `${timeOf(0)} 00000000000000000010`,
    createdAt: timeOf(0),
    updatedAt: timeOf(1),
    changedAt: timeOf(1),
  })
  t.equal(row?.changes, 2n, 'reservations do not move the revision')
  t.equal(row?.revision, 3n)
  const deleted = { type: 'NamespaceDeleted', data: { key: 'ns', incarnation: 'life-1', force: true } } as const
  t.equal(rowAfter(namespaces, 'namespace-ns', [namespaceCreated, deleted])?.doc, undefined)
})

await t.test('a token keeps its record after it is deleted', async (t) => {
  const expiry = { type: 'TokenExpiryChanged', data: { id: 't1', from: timeOf(9), to: timeOf(5) } } as const
  const doc = rowAfter(tokens, 'token-t1', [tokenIssued, expiry])?.doc
  t.strictSame([doc?.name, doc?.expiresAt, doc?.createdAt, doc?.updatedAt], ['deploy', timeOf(5), timeOf(0), timeOf(1)])
  for (const ended of [
    { type: 'TokenRevoked', data: { id: 't1' } },
    { type: 'TokenExpired', data: { id: 't1', expiresAt: timeOf(5) } },
  ] as const) {
    const gone = rowAfter(tokens, 'token-t1', [tokenIssued, expiry, ended])?.doc
    t.strictSame([gone?.deletedAt, gone?.updatedAt, gone?.metadata], [timeOf(2), timeOf(2), { team: 'blue' }])
  }
})

await t.test('an update of a segment changes its own time, and a constraint has a time of its own', async (t) => {
  const added = { type: 'ConstraintAdded', data: { ...ofSegment, constraint } } as const
  const changed = {
    type: 'ConstraintUpdated',
    data: { ...ofSegment, constraint: { id: 'c1', value: { from: 'pro', to: 'team' } } },
  } as const
  const updated = { type: 'SegmentUpdated', data: { ...ofSegment, matchType: { from: 'all', to: 'any' } } } as const
  const attached = {
    type: 'SegmentAttached',
    data: { ...ofSegment, flag: 'f', reservation: 'u1', reservedAt: timeOf(0) },
  } as const
  const detached = { type: 'SegmentDetached', data: { ...ofSegment, flag: 'f', reservation: 'u1' } } as const
  const row = rowAfter(segments, 'segment-ns+s', [segmentCreated, updated, added, changed, attached, detached])
  t.strictSame(row?.doc, {
    ...ofSegment,
    name: 'Segment',
    description: '',
    matchType: 'any',
    order: `${timeOf(0)} 00000000000000000010`,
    createdAt: timeOf(0),
    updatedAt: timeOf(1),
    changedAt: timeOf(3),
    constraints: [{ ...constraint, value: 'team', createdAt: timeOf(2), updatedAt: timeOf(3) }],
  })
  t.equal(row?.changes, 4n)
  const removed = { type: 'ConstraintRemoved', data: { ...ofSegment, constraint: 'c1' } } as const
  t.strictSame(rowAfter(segments, 'segment-ns+s', [segmentCreated, added, removed])?.doc?.constraints, [])
  const gone = rowAfter(segments, 'segment-ns+s', [segmentCreated, { type: 'SegmentDeleted', data: ofSegment }])
  t.strictSame([gone?.doc, gone?.changes], [undefined, 2n])
})

await t.test('a new flag has no parts, and its reservation is not in the document', async (t) => {
  const { reservation: _reservation, generation: _generation, ...fields } = flagCreated.data
  t.strictSame(flagDoc(), {
    ...fields,
    order: `${timeOf(0)} 00000000000000000010`,
    variants: [],
    rules: [],
    rollouts: [],
    createdAt: timeOf(0),
    updatedAt: timeOf(0),
    changedAt: timeOf(0),
  })
  t.equal(flagDoc({ type: 'FlagDeleted', data: ofFlag }), undefined)
  t.equal(
    rowAfter(flags, 'flag-ns+f', [flagCreated, { type: 'ReservationVoided', data: { ...ofFlag, reservation: 'u9' } }])
      ?.changes,
    1n,
  )
})

await t.test('an update of a flag changes its time and not that of its parts', async (t) => {
  const doc = flagDoc(variantAdded('v1'), {
    type: 'FlagUpdated',
    data: {
      ...ofFlag,
      enabled: { from: false, to: true },
      defaultVariantId: { to: 'v1' },
      metadata: { from: {}, to: { b: 1 } },
    },
  })
  t.strictSame([doc?.enabled, doc?.defaultVariantId, doc?.metadata, doc?.updatedAt], [true, 'v1', { b: 1 }, timeOf(2)])
  t.strictSame(doc?.variants[0], { ...variantAdded('v1').data.variant, createdAt: timeOf(1), updatedAt: timeOf(1) })
})

await t.test('a change of a part changes its time and not that of the flag', async (t) => {
  const doc = flagDoc(
    variantAdded('v1'),
    ruleAdded('r1', 1, use),
    distributionAdded('r1', 'd1', 'v1', 50),
    { type: 'VariantUpdated', data: { ...ofFlag, variant: { id: 'v1', name: { from: '', to: 'One' } } } },
    {
      type: 'DistributionUpdated',
      data: { ...ofFlag, rule: 'r1', distribution: { id: 'd1', rollout: { from: 50, to: 60 } } },
    },
    {
      type: 'RuleUpdated',
      data: {
        ...ofFlag,
        rule: {
          id: 'r1',
          segments: { from: [use], to: [use, { segment: 'q', reservation: 'u2' }] },
          operator: { from: 'or', to: 'and' },
        },
      },
    },
  )
  t.equal(doc?.updatedAt, timeOf(0))
  t.strictSame([doc?.variants[0]?.name, doc?.variants[0]?.updatedAt], ['One', timeOf(4)])
  t.strictSame(doc?.rules, [
    {
      id: 'r1',
      rank: 1,
      segments: ['s', 'q'],
      operator: 'and',
      distributions: [{ id: 'd1', variantId: 'v1', rollout: 60, createdAt: timeOf(3), updatedAt: timeOf(5) }],
      createdAt: timeOf(2),
      updatedAt: timeOf(6),
    },
  ])
})

await t.test('rules are sorted by rank, and a move changes the time only of rules that move', async (t) => {
  const rules = [ruleAdded('r1', 5), ruleAdded('r2', 1)]
  const ranks = (...events: FlagEvent[]) =>
    flagDoc(...rules, ...events)?.rules.map(({ id, rank, updatedAt }) => [id, rank, updatedAt])
  t.strictSame(ranks(), [
    ['r2', 1, timeOf(2)],
    ['r1', 5, timeOf(1)],
  ])
  t.strictSame(ranks({ type: 'RulesReordered', data: { ...ofFlag, moved: [{ id: 'r1', from: 5, to: 2 }] } }), [
    ['r2', 1, timeOf(2)],
    ['r1', 2, timeOf(3)],
  ])
  t.strictSame(ranks({ type: 'RuleRemoved', data: { ...ofFlag, rule: 'r2', moved: [{ id: 'r1', from: 5, to: 1 }] } }), [
    ['r1', 1, timeOf(3)],
  ])
})

await t.test('rollouts are sorted by rank, and list their segments by key', async (t) => {
  const share = rolloutAdded({ id: 'o1', rank: 2, type: 'threshold', description: '', percentage: 50, value: true })
  const segment = rolloutAdded({
    id: 'o2',
    rank: 1,
    type: 'segment',
    description: '',
    segments: [use],
    operator: 'or',
    value: true,
  })
  const doc = flagDoc(share, segment, {
    type: 'RolloutUpdated',
    data: {
      ...ofFlag,
      rollout: {
        id: 'o2',
        value: { from: true, to: false },
        segments: { from: [use], to: [{ segment: 'q', reservation: 'u2' }] },
      },
    },
  })
  t.strictSame(doc?.rollouts, [
    { ...segment.data.rollout, segments: ['q'], value: false, createdAt: timeOf(2), updatedAt: timeOf(3) },
    { ...share.data.rollout, createdAt: timeOf(1), updatedAt: timeOf(1) },
  ])
  const moved = [{ id: 'o1', from: 2, to: 1 }]
  t.strictSame(
    flagDoc(share, segment, { type: 'RolloutRemoved', data: { ...ofFlag, rollout: 'o2', moved } })?.rollouts.map(
      ({ rank }) => rank,
    ),
    [1],
  )
  t.equal(flagDoc(share, { type: 'RolloutsReordered', data: { ...ofFlag, moved } })?.rollouts[0]?.updatedAt, timeOf(2))
})

await t.test('deleting a variant also removes its distributions and the default', async (t) => {
  const doc = flagDoc(
    variantAdded('v1'),
    { type: 'FlagUpdated', data: { ...ofFlag, defaultVariantId: { to: 'v1' } } },
    ruleAdded('r1', 1),
    distributionAdded('r1', 'd1', 'v1', 50),
    {
      type: 'DistributionAdded',
      data: { ...ofFlag, rule: 'r1', distribution: { id: 'd2', variantId: 'v2', rollout: 10 } },
    },
    { type: 'DistributionRemoved', data: { ...ofFlag, rule: 'r1', distribution: 'd2' } },
    {
      type: 'VariantRemoved',
      data: { ...ofFlag, variant: 'v1', wasDefault: true, distributions: [{ rule: 'r1', distribution: 'd1' }] },
    },
  )
  t.strictSame([doc?.variants, doc?.rules[0]?.distributions, doc && 'defaultVariantId' in doc], [[], [], false])
})
