import t from 'tap'
import { segment } from '../../src/commands/segment.ts'
import { given, refusalOf } from '../given.ts'
import { constraint, segmentCreated as created, ofSegment } from '../samples.ts'

const history = given(segment)
const other = { ...ofSegment, incarnation: 'life-2' }
const missing = 'segment "ns/s" not found'
const deleted = { type: 'SegmentDeleted', data: ofSegment } as const
const added = { type: 'ConstraintAdded', data: { ...ofSegment, constraint } } as const
const reservation = { flag: 'f', reservation: 'u1', reservedAt: '2026-01-01T00:00:00.000Z' }
const attached = { type: 'SegmentAttached', data: { ...ofSegment, ...reservation } } as const
const detached = { type: 'SegmentDetached', data: { ...ofSegment, flag: 'f', reservation: 'u1' } } as const
const none: ReadonlySet<string> = new Set()

await t.test('a second segment with the same key is refused', async () => {
  history().when('CreateSegment', created.data).then(created)
  history(created).when('CreateSegment', created.data).refused('not_unique', 'segment "ns/s" is not unique')
  history(created, deleted).when('CreateSegment', created.data).then(created)
})

await t.test('in a namespace that was created again the earlier segment does not exist', async () => {
  const second = { type: 'SegmentCreated', data: { ...created.data, incarnation: 'life-2', generation: 2 } } as const
  history(created).when('CreateSegment', second.data).then(second)
  history(created)
    .when('UpdateSegment', { ...other, name: 'n', description: '', matchType: 'all' })
    .refused('not_found', missing)
  history(created)
    .when('DeleteSegment', { ...other, stale: none })
    .then()
  history(created, added)
    .when('RemoveConstraint', { ...other, id: 'c1' })
    .then()
  history(created)
    .when('AttachSegment', { ...other, ...reservation })
    .refused('not_found', missing)
  history(created, attached)
    .when('DetachSegment', { ...other, reservation: 'u1' })
    .then()
  history(second).when('CreateSegment', created.data).refused('not_found', 'namespace "ns" not found')
})

await t.test('an update of a segment records the old and the new values', async () => {
  const ask = { ...ofSegment, name: 'New', description: '', matchType: 'any' } as const
  history(created)
    .when('UpdateSegment', ask)
    .then({
      type: 'SegmentUpdated',
      data: { ...ofSegment, name: { from: 'Segment', to: 'New' }, matchType: { from: 'all', to: 'any' } },
    })
  history(created)
    .when('UpdateSegment', { ...ofSegment, name: 'Segment', description: '', matchType: 'all' })
    .then()
  history().when('UpdateSegment', ask).refused('not_found', missing)
})

await t.test('a segment in use cannot be deleted', async () => {
  const ask = { ...ofSegment, stale: none }
  history(created).when('DeleteSegment', ask).then(deleted)
  history(created, attached).when('DeleteSegment', ask).refused('in_use', 'segment "ns/s" is in use')
  history(created, attached)
    .when('DeleteSegment', { ...ask, stale: new Set(['u1']) })
    .then(deleted)
  history(created, attached, detached).when('DeleteSegment', ask).then(deleted)
  history().when('DeleteSegment', ask).then()
})

await t.test('a constraint of a segment can be added, changed and removed', async () => {
  history(created)
    .when('AddConstraint', { ...ofSegment, constraint })
    .then(added)
  history(created, added)
    .when('AddConstraint', { ...ofSegment, constraint })
    .then()
  history()
    .when('AddConstraint', { ...ofSegment, constraint })
    .refused('not_found', missing)

  const changed = { ...constraint, type: 'number', value: '3' } as const
  history(created, added)
    .when('UpdateConstraint', { ...ofSegment, constraint: changed })
    .then({
      type: 'ConstraintUpdated',
      data: {
        ...ofSegment,
        constraint: { id: 'c1', type: { from: 'string', to: 'number' }, value: { from: 'pro', to: '3' } },
      },
    })
  history(created, added)
    .when('UpdateConstraint', { ...ofSegment, constraint })
    .then()
  history(created)
    .when('UpdateConstraint', { ...ofSegment, constraint })
    .refused('not_found', 'constraint "c1" not found')
  history()
    .when('UpdateConstraint', { ...ofSegment, constraint })
    .refused('not_found', 'constraint "c1" not found')

  const removed = { type: 'ConstraintRemoved', data: { ...ofSegment, constraint: 'c1' } } as const
  history(created, added)
    .when('RemoveConstraint', { ...ofSegment, id: 'c1' })
    .then(removed)
  history(created, added, removed)
    .when('RemoveConstraint', { ...ofSegment, id: 'c1' })
    .then()
  history()
    .when('RemoveConstraint', { ...ofSegment, id: 'c1' })
    .then()
})

await t.test('each use of a segment reserves it once and releases it once', async () => {
  history(created).when('AttachSegment', attached.data).then(attached)
  history(created, attached).when('AttachSegment', attached.data).then()
  history().when('AttachSegment', attached.data).refused('not_found', missing)
  history(created, attached)
    .when('DetachSegment', { ...ofSegment, reservation: 'u1' })
    .then(detached)
  history(created)
    .when('DetachSegment', { ...ofSegment, reservation: 'u1' })
    .then()
  history(created, attached, deleted, created)
    .when('DetachSegment', { ...ofSegment, reservation: 'u1' })
    .then()
})

await t.test('a command for a namespace that was deleted and created again finds no earlier segment', async (t) => {
  t.ok(segment.exists(history(created).state, { ...ofSegment, stale: none }))
  t.notOk(segment.exists(history(created).state, { ...other, stale: none }))
  t.notOk(segment.exists(history(created, deleted).state, { ...ofSegment, stale: none }))
  t.ok(
    segment.quiet?.has('SegmentAttached') && segment.quiet.has('SegmentDetached'),
    'reservations do not move the revision',
  )
})

await t.test('one check finds out whether a segment is in use, however many flags use it', async (t) => {
  for (const users of [10, 20_000]) {
    const uses = Array.from({ length: users }, (_, n) => ({
      ...attached,
      data: { ...attached.data, reservation: `u${n}` },
    }))
    const { state } = history(created, ...uses)
    const { reservations: all } = state
    let looks = 0
    const reservations: typeof all = {
      ...all,
      every: (passes) => all.every((key) => (looks++, passes(key))),
      [Symbol.iterator]: function* () {
        for (const entry of all) {
          looks++
          yield entry
        }
      },
    }
    const ask = () => segment.decide.DeleteSegment({ ...state, reservations }, { ...ofSegment, stale: none })
    t.equal(refusalOf(ask)?.reason, 'in_use')
    t.equal(looks, 1, `${users} users`)
  }
})
