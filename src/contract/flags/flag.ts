import { Type } from 'typebox'
import { invalid, refuse } from '../../base/errors.ts'
import {
  AnyObject,
  changedFields,
  Id,
  Instant,
  Int32,
  named,
  pageFields,
  type Shown,
  Text,
  TextMap,
  times,
} from '../answer.ts'
import { TrialAnswers } from '../evaluation.ts'
import { type ChangeOf, changesOf, id, kind, partly, ref } from '../readers/changes.ts'
import { anyObject, choice, flagTypes, list, object, optional, text, flag as truth } from '../readers/fields.ts'
import { input, query, type ReadOf } from '../readers/input.ts'
import { instant } from '../readers/moment.ts'
import { type Field, type Raw, storable } from '../readers/value.ts'
import { description, key, name, searchedFlags } from '../resource.ts'
import { Rollout, rolloutFields, rolloutPart, rolloutParts, twoParts, withinRange } from './rollout.ts'
import { distributionBody, eachOnce, ids, Rule, segmentFields, segmentsGiven } from './rule.ts'
import { Variant, variantFields } from './variant.ts'

const MAX_BYTES = 65_536

/** Refuses texts that cannot be stored, and numbers that a float64 cannot keep, at any depth. `path` names the member. */
const keepable = (value: unknown, name: string, path = name): void => {
  if (typeof value === 'string') storable(value, name, true)
  else if (typeof value === 'bigint') invalid(path, 'must be an integer of at most 9007199254740991, or text')
  else if (typeof value === 'number' && !Number.isFinite(value)) invalid(name, 'must not contain numbers out of range')
  else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      storable(key, name, true)
      keepable(member, name, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
    }
  }
}

const { schema, read } = anyObject()

/** Metadata of a flag: any JSON object of at most 64 KB as compact JSON (api.md §7.3). */
const metadata: Field<Raw> = {
  schema,
  optional: true,
  read: (value, name) => {
    const given = read(value, name)
    keepable(given, name)
    return Buffer.byteLength(JSON.stringify(given)) <= MAX_BYTES ? given : invalid(name, 'must be less than 64 KB')
  },
}

/** A flag with its variants (api.md §7.2). */
export const Flag = named('Flag', {
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  enabled: Type.Boolean(),
  type: Type.Enum(flagTypes.names),
  variants: Type.Array(Variant),
  defaultVariant: Type.Optional(Variant),
  metadata: AnyObject,
  ...times,
})
export type Flag = Shown<typeof Flag>

const lastEvaluation = { lastEvaluatedAt: Type.Optional(Instant) }
/**
 * A single flag. `include=usage` adds the hour of its last evaluation, and the hour in which the snapshot of its
 * namespace was last fetched.
 */
export const FlagWithUsage = named('FlagWithUsage', {
  ...Flag.properties,
  ...lastEvaluation,
  snapshotFetchedAt: Type.Optional(Instant),
})
export type FlagWithUsage = Shown<typeof FlagWithUsage>

/** A rule or rollout of a flag that uses a segment. */
const SegmentUse = named('SegmentUse', { part: Type.Enum(['rule', 'rollout']), id: Id, rank: Int32 })
type SegmentUse = Shown<typeof SegmentUse>

/** A rule whose shares give less than 100 %, with the percentage that they give. */
const PartialRule = named('PartialRule', { rank: Int32, given: Type.Number() })
export type PartialRule = Shown<typeof PartialRule>

/**
 * A flag in a list. `include=usage` adds the hour of its last evaluation; `include=targeting` also its rollouts, rule
 * count, rules with shares below 100 %, and last change. The filter `segmentKey` adds the uses of that segment.
 */
export const ListedFlag = named('ListedFlag', {
  ...Flag.properties,
  ...changedFields,
  ...lastEvaluation,
  rollouts: Type.Optional(Type.Array(Rollout)),
  ruleCount: Type.Optional(Type.Integer()),
  partialRules: Type.Optional(Type.Array(PartialRule)),
  segmentUses: Type.Optional(Type.Array(SegmentUse)),
})
export type ListedFlag = Shown<typeof ListedFlag>
export const FlagList = named('FlagList', { flags: Type.Array(ListedFlag), ...pageFields })
export type FlagList = Shown<typeof FlagList>

const common = { name, description, enabled: truth() }
/** Bodies that create and replace a flag. A replacement without metadata keeps the stored metadata. */
export const newFlag = input(
  { key, ...common, type: flagTypes.field('variant'), metadata: optional(metadata) },
  'NewFlag',
)
const flagFields = { ...common, defaultVariantId: text(), metadata: optional(metadata) }
export const flagUpdate = input(flagFields, 'FlagUpdate')

/** Query of the list of flags (api.md §7.7). */
export const flagQuery = query({
  ...searchedFlags,
  type: { ...optional(flagTypes.field('variant')), schema: Type.Enum(flagTypes.names) },
  enabled: optional(truth()),
  segmentKey: text({ stored: false }),
  evaluatedSince: instant,
  notEvaluatedSince: instant,
  include: optional(choice({ targeting: 0, usage: 1 })),
})

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
