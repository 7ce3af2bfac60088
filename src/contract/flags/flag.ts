import { Type } from 'typebox'
import { AnyObject, changedFields, Id, Instant, Int32, named, pageFields, type Shown, Text, times } from '../answer.ts'
import { flagTypes } from '../enums.ts'
import { choice, optional, text, flag as truth } from '../readers/fields.ts'
import { input, query } from '../readers/input.ts'
import { metadata } from '../readers/metadata.ts'
import { instant } from '../readers/moment.ts'
import { description, key, name, searchedFlags } from '../resource.ts'
import { Rollout } from './rollout.ts'
import { Variant } from './variant.ts'

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
export const flagFields = { ...common, defaultVariantId: text(), metadata: optional(metadata) }
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
