import t from 'tap'
import { flag } from '../../src/commands/flag/flag.ts'
import { given } from '../given.ts'
import { flagCreated as created, ofFlag, rolloutAdded } from '../samples.ts'

const history = given(flag)
const use = (segment: string) => ({ segment, reservation: `reservation-${segment}` })
const share = { type: 'threshold', percentage: 50, value: true } as const
const bySegment = { type: 'segment', segments: ['s'], operator: 'or', value: true } as const
const ask = { ...ofFlag, id: 'o1', description: '', reservations: [] }
const shareAdded = rolloutAdded({ id: 'o1', rank: 1, description: '', ...share })
const segmentAdded = rolloutAdded({ id: 'o1', rank: 1, description: '', ...bySegment, segments: [use('s')] })
const at = (id: string, rank: number) => rolloutAdded({ id, rank, description: '', ...share })

await t.test('a rollout of either type is added at the end or at a free rank', async () => {
  history(created)
    .when('AddRollout', { ...ask, rank: 0, part: share })
    .then(shareAdded)
  history(created)
    .when('AddRollout', { ...ask, rank: 0, part: bySegment, reservations: [use('s')] })
    .then(segmentAdded)
  history(created, at('o9', 4))
    .when('AddRollout', { ...ask, rank: 0, part: share })
    .then(at('o1', 5))
  history(created, at('o9', 4))
    .when('AddRollout', { ...ask, rank: 4, part: share })
    .refused('rank_taken', 'rank number: 4 already exists')
  history(created, shareAdded)
    .when('AddRollout', { ...ask, rank: 0, part: share })
    .then()
})

await t.test('a rollout of a missing flag is refused with the message of its type', async () => {
  history()
    .when('AddRollout', { ...ask, rank: 0, part: share })
    .refused('not_found', 'flag "ns/f" not found')
  history()
    .when('AddRollout', { ...ask, rank: 0, part: bySegment })
    .refused('not_found', 'flag "ns/f or segment s" not found')
  history(created)
    .when('UpdateRollout', { ...ask, part: share })
    .refused('not_found', 'rollout "ns/o1" not found')
  history()
    .when('UpdateRollout', { ...ask, part: bySegment })
    .refused('not_found', 'rollout "ns/o1" not found')
})

await t.test('a rollout stores each segment once, with the operator OR for a single one', async () => {
  history(created)
    .when('AddRollout', {
      ...ask,
      rank: 0,
      part: { ...bySegment, segments: ['s', 's'], operator: 'and' },
      reservations: [use('s')],
    })
    .then(segmentAdded)
  history(created)
    .when('AddRollout', { ...ask, rank: 0, part: bySegment })
    .refused('write_conflict')
})

await t.test('an update of a rollout records the changes and keeps its type', async () => {
  history(created, shareAdded)
    .when('UpdateRollout', { ...ask, description: 'd', part: { ...share, percentage: 12.5, value: false } })
    .then({
      type: 'RolloutUpdated',
      data: {
        ...ofFlag,
        rollout: {
          id: 'o1',
          description: { from: '', to: 'd' },
          percentage: { from: 50, to: 12.5 },
          value: { from: true, to: false },
        },
      },
    })
  history(created, segmentAdded)
    .when('UpdateRollout', {
      ...ask,
      part: { ...bySegment, segments: ['q', 's'], operator: 'and' },
      reservations: [use('q')],
    })
    .then({
      type: 'RolloutUpdated',
      data: {
        ...ofFlag,
        rollout: {
          id: 'o1',
          segments: { from: [use('s')], to: [use('q'), use('s')] },
          operator: { from: 'or', to: 'and' },
        },
      },
    })
  history(created, shareAdded)
    .when('UpdateRollout', { ...ask, part: share })
    .then()
  history(created, segmentAdded)
    .when('UpdateRollout', { ...ask, part: bySegment })
    .then()
  history(created, shareAdded)
    .when('UpdateRollout', { ...ask, part: bySegment, reservations: [use('s')] })
    .refused(
      'type_change',
      'cannot change type of rollout: have "THRESHOLD_ROLLOUT_TYPE" attempted "SEGMENT_ROLLOUT_TYPE"',
    )
  history(created, segmentAdded)
    .when('UpdateRollout', { ...ask, part: share })
    .refused(
      'type_change',
      'cannot change type of rollout: have "SEGMENT_ROLLOUT_TYPE" attempted "THRESHOLD_ROLLOUT_TYPE"',
    )
})

await t.test('after a removal the remaining rollouts are numbered from 1', async () => {
  history(created, at('o1', 1), at('o2', 5))
    .when('RemoveRollout', { ...ofFlag, id: 'o1' })
    .then({ type: 'RolloutRemoved', data: { ...ofFlag, rollout: 'o1', moved: [{ id: 'o2', from: 5, to: 1 }] } })
  history(created)
    .when('RemoveRollout', { ...ofFlag, id: 'o1' })
    .then()
  history()
    .when('RemoveRollout', { ...ofFlag, id: 'o1' })
    .then()
})

await t.test('a new order puts the listed rollouts first and keeps the order of the others', async () => {
  const rollouts = [at('o1', 1), at('o2', 2), at('o3', 3)]
  history(created, ...rollouts)
    .when('OrderRollouts', { ...ofFlag, ids: ['o2', 'o1'] })
    .then({
      type: 'RolloutsReordered',
      data: {
        ...ofFlag,
        moved: [
          { id: 'o2', from: 2, to: 1 },
          { id: 'o1', from: 1, to: 2 },
        ],
      },
    })
  history(created, ...rollouts)
    .when('OrderRollouts', { ...ofFlag, ids: ['o1', 'o2'] })
    .then()
  history(created, ...rollouts)
    .when('OrderRollouts', { ...ofFlag, ids: ['o1', 'x'] })
    .refused('invalid_argument', 'invalid field rolloutIds: contains unknown id "x"')
  history()
    .when('OrderRollouts', { ...ofFlag, ids: ['o1', 'o2'] })
    .refused('not_found', 'flag "ns/f" not found')
})
