import { Type } from 'typebox'
import { refuse } from '../../base/errors.ts'
import { named, type Shown, Text, TextMap } from '../answer.ts'
import { TrialAnswers } from '../evaluation.ts'
import { type ChangeOf, changesOf, id, kind, partly, ref } from '../readers/changes.ts'
import { list, object, optional } from '../readers/fields.ts'
import { input, type ReadOf } from '../readers/input.ts'
import { distributionBody } from './distribution.ts'
import { Flag, flagFields } from './flag.ts'
import { Rollout, rolloutFields, rolloutPart, rolloutParts, twoParts, withinRange } from './rollout.ts'
import { Rule } from './rule.ts'
import { eachOnce, ids, segmentFields, segmentsGiven } from './rule-fields.ts'
import { variantFields } from './variant.ts'

const someSegments = partly(segmentFields)
/** Segments and operator in a partial update; a field that the request does not contain is undefined. */
const someSegmentsGiven = ({ segmentKey, segmentKeys, segmentOperator: operator }: ReadOf<typeof someSegments>) => {
  if (segmentKey === undefined && segmentKeys === undefined) return { segments: undefined, operator }
  const given = { segmentKey: segmentKey ?? '', segmentKeys: segmentKeys ?? [], segmentOperator: operator ?? 'or' }
  return { segments: segmentsGiven(given).segments, operator }
}

const somePart = {
  description: optional(rolloutFields.description),
  segment: optional(object(input(partly(rolloutParts.segment)))),
  threshold: optional(object(input(partly(rolloutParts.threshold)))),
}
/** Part of a partial update of a rollout. */
const somePartGiven = ({ segment, threshold }: Omit<ReadOf<typeof somePart>, 'description'>) => {
  if (segment && threshold) return twoParts()
  if (segment) return { type: 'segment', ...someSegmentsGiven(segment), value: segment.value } as const
  if (!threshold) return undefined
  const { percentage, value } = threshold
  return { type: 'threshold', percentage: percentage && withinRange(percentage), value } as const
}

const order = kind({ ids }, (read) => ({ ids: eachOnce(read.ids, 'ids') }))
const distributions = list(object(distributionBody))

/** Changes of a flag and its parts. Absent fields of an update stay unchanged (api.md §7.9). */
const kinds = {
  'flag.update': kind(partly(flagFields)),
  'variant.create': kind({ ref, ...variantFields }),
  'variant.update': kind({ id, ...partly(variantFields) }),
  'variant.delete': kind({ id }),
  'rollout.create': kind({ ref, ...rolloutFields }, ({ ref, description, ...read }) => {
    const part = rolloutPart(read, () => refuse('invalid_argument', 'rollout rule is missing'))
    return { ref, description, part }
  }),
  'rollout.update': kind({ id, ...somePart }, ({ id, description, ...read }) => ({
    id,
    description,
    part: somePartGiven(read),
  })),
  'rollout.delete': kind({ id }),
  'rollout.order': order,
  'rule.create': kind({ ref, ...segmentFields, distributions }, ({ ref, distributions, ...read }) => ({
    ref,
    ...segmentsGiven(read),
    distributions,
  })),
  'rule.update': kind(
    { id, ...someSegments, distributions: optional(distributions) },
    ({ id, distributions, ...read }) => ({ id, ...someSegmentsGiven(read), distributions }),
  ),
  'rule.delete': kind({ id }),
  'rule.order': order,
}
export const flagChanges = changesOf(kinds, 'FlagChange')
export type FlagChangeAsked = ChangeOf<typeof kinds>

/**
 * The flag with its parts after the changes, and the id of each part that was created with a reference. A dry run adds
 * the present revision, and the answers for its entity.
 */
export const ChangedFlag = named('ChangedFlag', {
  flag: Flag,
  rules: Type.Array(Rule),
  rollouts: Type.Array(Rollout),
  refs: TextMap,
  revision: Type.Optional(Text),
  evaluations: Type.Optional(TrialAnswers),
})
export type ChangedFlag = Shown<typeof ChangedFlag>
