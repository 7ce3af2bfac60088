import {
  type Snapshot,
  type SnapshotDistribution,
  type SnapshotFlag,
  type SnapshotRollout,
  type SnapshotRule,
  type SnapshotSegment,
  snapshotConstraintTypes,
  snapshotMatchTypes,
} from '../../contract/flags/snapshot.ts'
import { flagTypes, rolloutTypes, segmentOperators } from '../../contract/readers/fields.ts'
import { shortFloat32 } from '../../events/flag.ts'
import type { FlagStore } from '../../projections/flag-memory/flag-store.ts'
import type { DistributionDoc, FlagDoc, RolloutDoc, RuleDoc, VariantDoc } from '../../projections/flags.ts'
import type { SegmentDoc } from '../../projections/resource-model.ts'
import { joined } from '../wire/pieces.ts'

/**
 * Format that the evaluating client can read (api.md §9): older clients do not support constraints on the entity id, or
 * default variants.
 */
export type Form = { readonly tag: string; readonly entityId: boolean; readonly defaultVariant: boolean }

type SnapshotSource = Pick<FlagStore<unknown>, 'evaluable' | 'segments'>
/**
 * Number of flags of a namespace that cannot be evaluated: unreadable flags, and flags that use an unreadable segment.
 */
export const unevaluable = (
  { flags, evaluable, closed }: Pick<FlagStore<unknown>, 'flags' | 'evaluable' | 'closed'>,
  namespace: string,
): number => closed.flags(namespace) + flags(namespace).length - evaluable(namespace).length

/** JSON texts of the existing segments of these keys. */
type SegmentTexts = (keys: readonly string[]) => Generator<string>
type Variants = ReadonlyMap<string, VariantDoc>

/** JSON text of an object without its closing brace, so that fields can follow. */
const opened = (object: object): string => JSON.stringify(object).slice(0, -1)

/** A date without a time of day. The service reads it as midnight UTC; client engines cannot read it. */
const DATE = /^\d{4}-\d\d-\d\d$/

const segmentJson = (doc: SegmentDoc, form: Form): SnapshotSegment => {
  const { key, name, description, matchType, createdAt, updatedAt, constraints } = doc
  return {
    key,
    name,
    description,
    matchType: snapshotMatchTypes[matchType],
    createdAt,
    updatedAt,
    constraints: constraints.map(({ id, type, property, operator, value }) => {
      const known = type !== 'entityId' || form.entityId
      const shown = type === 'datetime' && DATE.test(value) ? `${value}T00:00:00Z` : value
      return { id, type: snapshotConstraintTypes[known ? type : 'unknown'], property, operator, value: shown }
    }),
  }
}

/** JSON texts of segments, each created once, when a rule or rollout first uses it. */
const segmentTexts = (segments: ReturnType<SnapshotSource['segments']>, form: Form): SegmentTexts => {
  const docs = new Map(segments.map(({ doc }) => [doc.key, doc]))
  const texts = new Map<string, string>()
  return function* (keys) {
    for (const key of keys) {
      const doc = docs.get(key)
      const text = texts.get(key) ?? (doc && JSON.stringify(segmentJson(doc, form)))
      if (text === undefined) continue
      texts.set(key, text)
      yield text
    }
  }
}

function* distributionsOf(variants: Variants, ruleId: string, parts: readonly DistributionDoc[]): Generator<string> {
  for (const { id, variantId, rollout } of parts) {
    const variant = variants.get(variantId)
    if (!variant) continue
    const { key: variantKey, attachment: variantAttachment } = variant
    const shown: SnapshotDistribution = {
      id,
      ruleId,
      variantId,
      variantKey,
      variantAttachment,
      rollout: shortFloat32(rollout),
    }
    yield JSON.stringify(shown)
  }
}

function* ruleOf(
  segmentsOf: SegmentTexts,
  variants: Variants,
  { id, segments, rank, operator, distributions }: RuleDoc,
): Generator<string> {
  const first: Pick<SnapshotRule, 'id'> = { id }
  const next: Omit<SnapshotRule, 'id' | 'segments' | 'distributions'> = {
    rank,
    segmentOperator: segmentOperators.wire[operator],
  }
  yield `${opened(first)},"segments":[`
  yield* joined(segmentsOf(segments))
  yield `],${opened(next).slice(1)},"distributions":[`
  yield* joined(distributionsOf(variants, id, distributions))
  yield ']}'
}

function* rolloutOf(segmentsOf: SegmentTexts, rollout: RolloutDoc): Generator<string> {
  const { type, rank, value } = rollout
  const shown: Omit<SnapshotRollout, 'segment' | 'threshold'> = { type: rolloutTypes.wire[type], rank }
  if (rollout.type === 'threshold') {
    const threshold: SnapshotRollout['threshold'] = { percentage: shortFloat32(rollout.percentage), value }
    yield JSON.stringify({ ...shown, threshold })
    return
  }
  const segment: Omit<NonNullable<SnapshotRollout['segment']>, 'segments'> = {
    value,
    segmentOperator: segmentOperators.wire[rollout.operator],
  }
  yield `${opened(shown)},"segment":${opened(segment)},"segments":[`
  yield* joined(segmentsOf(rollout.segments))
  yield ']}}'
}

function* flagOf(segmentsOf: SegmentTexts, form: Form, flag: FlagDoc): Generator<string> {
  const { key, name, description, enabled, type, createdAt, updatedAt, defaultVariantId } = flag
  const variants = new Map(flag.variants.map((variant) => [variant.id, variant]))
  const chosen = form.defaultVariant && defaultVariantId !== undefined ? variants.get(defaultVariantId) : undefined
  const shown: Omit<SnapshotFlag, 'rules' | 'rollouts' | 'defaultVariant'> = {
    key,
    name,
    description,
    enabled,
    type: flagTypes.wire[type],
    createdAt,
    updatedAt,
  }
  yield `${opened(shown)},"rules":[`
  yield* listOf(flag.rules, (rule) => ruleOf(segmentsOf, variants, rule))
  yield '],"rollouts":['
  yield* listOf(flag.rollouts, (rollout) => rolloutOf(segmentsOf, rollout))
  yield ']'
  if (chosen) {
    const { id, key, attachment } = chosen
    const defaultVariant: SnapshotFlag['defaultVariant'] = { id, key, attachment }
    yield `,"defaultVariant":${JSON.stringify(defaultVariant)}`
  }
  yield '}'
}

/**
 * JSON text of the snapshot of a namespace, for clients that evaluate flags themselves: all flags in list order, each
 * rule once. The snapshot is produced in small pieces, however large a flag is. The snapshot shows the state at the
 * time of the first piece.
 */
export function* snapshotText(held: SnapshotSource, namespace: string, form: Form): Generator<string> {
  const flags = held.evaluable(namespace)
  const segmentsOf = segmentTexts(held.segments(namespace), form)
  const shown: Omit<Snapshot, 'flags'> = { namespace: { key: namespace } }
  yield `${opened(shown)},"flags":[`
  yield* listOf(flags, ({ doc }) => flagOf(segmentsOf, form, doc))
  yield ']}'
}

/** The texts of the items, separated by commas; the text of each item comes in pieces. */
function* listOf<T>(items: readonly T[], textOf: (item: T) => Iterable<string>): Generator<string> {
  for (const [n, item] of items.entries()) {
    if (n > 0) yield ','
    yield* textOf(item)
  }
}
