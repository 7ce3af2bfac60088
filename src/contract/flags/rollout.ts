import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import { Float32, Int32, named, pageFields, type Shown, Text, times } from '../answer.ts'
import { float, object, optional, rolloutTypes, flag as truth } from '../readers/fields.ts'
import { input, type ReadBy } from '../readers/input.ts'
import { description } from '../resource.ts'
import { bySegments, ids, rank, segmentFields, segmentsGiven } from './rule.ts'

/**
 * A rollout of a boolean flag: `threshold` for a percentage of the entities, `segment` for the entities in segments.
 * `countsAs` is the percentage that the buckets give, only if it is another one (api.md §7.2).
 */
export const Rollout = named('Rollout', {
  id: Text,
  flagKey: Text,
  namespaceKey: Text,
  type: Type.Enum(rolloutTypes.names),
  rank: Int32,
  description: Text,
  ...times,
  segment: Type.Optional(named('RolloutSegment', { ...bySegments, value: Type.Boolean() })),
  threshold: Type.Optional(
    named('RolloutThreshold', {
      percentage: Float32,
      countsAs: Type.Optional(Type.Integer()),
      value: Type.Boolean(),
    }),
  ),
})
export type Rollout = Shown<typeof Rollout>
/** Answer to a list of rollouts. For compatibility it contains the same list in two fields. */
export const RolloutList = named('RolloutList', {
  rules: Type.Array(Rollout),
  rollouts: Type.Array(Rollout),
  ...pageFields,
})
export type RolloutList = Shown<typeof RolloutList>

/** Fields of the two types of rollout. */
export const rolloutParts = {
  segment: { ...segmentFields, value: truth() },
  threshold: { percentage: float(), value: truth() },
}
export const rolloutFields = {
  description,
  segment: optional(object(input(rolloutParts.segment))),
  threshold: optional(object(input(rolloutParts.threshold))),
}
/** Bodies that create, replace (the rank stays) and reorder rollouts. */
export const newRollout = input({ rank, ...rolloutFields }, 'NewRollout')
export const rolloutUpdate = input(rolloutFields, 'RolloutUpdate')
export const rolloutOrder = input({ rolloutIds: ids }, 'RolloutOrder')

type RolloutRequest = Pick<ReadBy<typeof newRollout>, 'segment' | 'threshold'>

/** Refuses a rollout of both types. */
export const twoParts = (): never => invalid('rule', 'only one of segment or threshold can be present')

/** Returns the part of a rollout by its type. `neither` refuses a rollout without one. */
export const rolloutPart = ({ segment, threshold }: RolloutRequest, neither: () => never) => {
  if (segment && threshold) return twoParts()
  if (segment) return { type: 'segment', ...segmentsGiven(segment), value: segment.value } as const
  if (!threshold) return neither()
  return { type: 'threshold', ...threshold, percentage: withinRange(threshold.percentage) } as const
}

/** Returns the percentage. Refuses a value outside 0 to 100. */
export const withinRange = (percentage: number): number =>
  percentage < 0 || percentage > 100 ? invalid('threshold.percentage', 'must be within range [0, 100]') : percentage
