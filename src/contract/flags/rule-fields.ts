import { Type } from 'typebox'
import { invalid, refuse } from '../../base/errors.ts'
import { Text, Texts } from '../answer.ts'
import { segmentOperators } from '../enums.ts'
import { integer, list, text } from '../readers/fields.ts'

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
