import { Type } from 'typebox'
import { invalid, refuse } from '../../base/errors.ts'
import { Float32, Int32, named, pageFields, type Shown, Text, Texts, times } from '../answer.ts'
import { float, integer, list, segmentOperators, text } from '../readers/fields.ts'
import { input, query } from '../readers/input.ts'
import type { Field } from '../readers/value.ts'

/**
 * Segments of a rule or rollout in answers: a single segment is in `segmentKey`, several segments are in `segmentKeys`.
 */
export const bySegments = { segmentKey: Text, segmentKeys: Texts, segmentOperator: Type.Enum(segmentOperators.names) }

/** Segments of a rule or rollout in requests. */
export const segmentFields = {
  segmentKey: text(),
  segmentKeys: list(text()),
  segmentOperator: segmentOperators.field('or'),
}

type SegmentOperator = keyof typeof segmentOperators.wire
type RuleFields = {
  readonly segmentKey: string
  readonly segmentKeys: readonly string[]
  readonly segmentOperator: SegmentOperator
}

/** Segments in a request, given in one of the two forms. */
export const segmentsGiven = ({ segmentKey, segmentKeys, segmentOperator: operator }: RuleFields) => {
  if (segmentKey === '' && segmentKeys.length === 0) invalid('segmentKey or segmentKeys', 'must not be empty')
  if (segmentKey !== '' && segmentKeys.length > 0) invalid('segmentKey or segmentKeys', 'only one can be present')
  return { segments: segmentKey === '' ? segmentKeys : [segmentKey], operator }
}

/** Rank of a new rule or rollout; 0 and absent = last. */
export const rank = integer({ min: 0, minMessage: 'must be greater than 0' })

/** Ids in the requested order. */
export const ids = list(text(), { min: 2 })

/** Returns the ids. Refuses duplicates. */
export const eachOnce = (ids: readonly string[], field: string): readonly string[] =>
  new Set(ids).size === ids.length ? ids : invalid(field, 'must not contain duplicates')

type ItemWithId = { readonly id: string }

/** Returns the part with this id. The part existed when the command was decided, so its absence is a write conflict. */
export const partOf = <P extends ItemWithId>(parts: readonly P[], id: string): P =>
  parts.find((part) => part.id === id) ?? refuse('write_conflict')

/** Percentage of a rule's entities that get a variant; `countsAs` if the buckets give another one (api.md §7.2). */
export const Distribution = named('Distribution', {
  id: Text,
  ruleId: Text,
  variantId: Text,
  rollout: Float32,
  countsAs: Type.Optional(Type.Number()),
  ...times,
})
export type Distribution = Shown<typeof Distribution>

const { schema, read } = float()
/** Percentage of the entities, 0 to 100. */
export const share: Field<number> = {
  schema,
  optional: true,
  read: (value, name) => {
    const share = read(value, name)
    if (share < 0) invalid(name, "must be greater than or equal to '0'")
    return share > 100 ? invalid(name, "must be less than or equal to '100'") : share
  },
}

const variantId = text({ required: true })
/** Body that creates or replaces a distribution. */
export const distributionBody = input({ variantId, rollout: share }, 'DistributionBody')
/** Query of a deletion: the variant of the distribution. */
export const distributionDeletion = query({ variantId })

/** A rule of a variant flag (api.md §7.2). */
export const Rule = named('Rule', {
  id: Text,
  flagKey: Text,
  namespaceKey: Text,
  ...bySegments,
  rank: Int32,
  distributions: Type.Array(Distribution),
  ...times,
})
export type Rule = Shown<typeof Rule>
export const RuleList = named('RuleList', { rules: Type.Array(Rule), ...pageFields })
export type RuleList = Shown<typeof RuleList>

/** Bodies that create, replace and reorder rules. */
export const newRule = input({ ...segmentFields, rank }, 'NewRule')
export const ruleUpdate = input(segmentFields, 'RuleUpdate')
export const ruleOrder = input({ ruleIds: ids }, 'RuleOrder')
