import type { ConstraintType } from '../../evaluation/flag.ts'
import type { FlagStore } from '../../projections/flag-store.ts'
import type { DistributionDoc, FlagDoc, RolloutDoc, RuleDoc, VariantDoc } from '../../projections/flags.ts'
import type { ConstraintDoc, SegmentDoc } from '../../projections/segments.ts'
import { flagTypes, rolloutTypes, segmentOperators } from '../../contract/enums.ts'
import { shortFloat32 } from '../../contract/float32.ts'
import { joined } from '../wire/pieces.ts'

/** What the evaluating client can read (api.md §9): older ones know no constraints on the entity's id, or no default variant. */
export type Form = { readonly tag: string; readonly entityId: boolean; readonly defaultVariant: boolean }

const matchTypes = { all: 'ALL_SEGMENT_MATCH_TYPE', any: 'ANY_SEGMENT_MATCH_TYPE' } as const
const constraintTypes: Readonly<Record<ConstraintType, string>> = {
  string: 'STRING_CONSTRAINT_COMPARISON_TYPE',
  number: 'NUMBER_CONSTRAINT_COMPARISON_TYPE',
  boolean: 'BOOLEAN_CONSTRAINT_COMPARISON_TYPE',
  datetime: 'DATETIME_CONSTRAINT_COMPARISON_TYPE',
  entityId: 'ENTITY_ID_CONSTRAINT_COMPARISON_TYPE',
}
const unknownType = 'UNKNOWN_CONSTRAINT_COMPARISON_TYPE'

type Held = Pick<FlagStore<unknown>, 'flags' | 'segments'>

/** An object's JSON text without its closing brace, for more members to follow. */
const opened = (object: object): string => JSON.stringify(object).slice(0, -1)

/**
 * The JSON text of the snapshot of a namespace, for clients that evaluate by themselves: all flags in list order, each rule once. It comes
 * in pieces that are small however large a flag is, and shows the state of the moment at which the first one is asked for.
 */
export function* snapshotText(held: Held, namespace: string, form: Form): Generator<string> {
  const flags = held.flags(namespace)
  const docs = new Map(held.segments(namespace).map(({ doc }) => [doc.key, doc]))

  const constraintOf = ({ id, type, property, operator, value }: ConstraintDoc) => {
    const known = type !== 'entityId' || form.entityId
    return { id, type: known ? constraintTypes[type] : unknownType, property, operator, value }
  }
  const segmentOf = ({ key, name, description, matchType, createdAt, updatedAt, constraints }: SegmentDoc) => {
    const shown = { key, name, description, matchType: matchTypes[matchType], createdAt, updatedAt }
    return JSON.stringify({ ...shown, constraints: constraints.map(constraintOf) })
  }
  const texts = new Map<string, string>()
  const segmentText = (key: string): string | undefined => {
    const doc = docs.get(key)
    const text = texts.get(key) ?? (doc && segmentOf(doc))
    if (text !== undefined) texts.set(key, text)
    return text
  }
  function* segmentsOf(keys: readonly string[]): Generator<string> {
    for (const key of keys) {
      const text = segmentText(key)
      if (text !== undefined) yield text
    }
  }

  function* distributionsOf(
    variants: ReadonlyMap<string, VariantDoc>,
    ruleId: string,
    parts: readonly DistributionDoc[],
  ): Generator<string> {
    for (const { id, variantId, rollout } of parts) {
      const variant = variants.get(variantId)
      if (!variant) continue
      const { key: variantKey, attachment: variantAttachment } = variant
      yield JSON.stringify({ id, ruleId, variantId, variantKey, variantAttachment, rollout: shortFloat32(rollout) })
    }
  }
  function* ruleOf(
    variants: ReadonlyMap<string, VariantDoc>,
    { id, segments, rank, operator, distributions }: RuleDoc,
  ): Generator<string> {
    yield `${opened({ id })},"segments":[`
    yield* joined(segmentsOf(segments))
    yield `],${opened({ rank, segmentOperator: segmentOperators.wire[operator] }).slice(1)},"distributions":[`
    yield* joined(distributionsOf(variants, id, distributions))
    yield ']}'
  }
  function* rolloutOf(rollout: RolloutDoc): Generator<string> {
    const { type, rank, value } = rollout
    const shown = { type: rolloutTypes.wire[type], rank }
    if (rollout.type === 'threshold') {
      yield JSON.stringify({ ...shown, threshold: { percentage: shortFloat32(rollout.percentage), value } })
      return
    }
    yield `${opened(shown)},"segment":${opened({ value, segmentOperator: segmentOperators.wire[rollout.operator] })},"segments":[`
    yield* joined(segmentsOf(rollout.segments))
    yield ']}}'
  }
  function* flagOf(flag: FlagDoc): Generator<string> {
    const { key, name, description, enabled, type, createdAt, updatedAt, defaultVariantId } = flag
    const variants = new Map(flag.variants.map((variant) => [variant.id, variant]))
    const chosen = form.defaultVariant && defaultVariantId !== undefined ? variants.get(defaultVariantId) : undefined
    yield `${opened({ key, name, description, enabled, type: flagTypes.wire[type], createdAt, updatedAt })},"rules":[`
    yield* listOf(flag.rules, (rule) => ruleOf(variants, rule))
    yield '],"rollouts":['
    yield* listOf(flag.rollouts, rolloutOf)
    yield ']'
    if (chosen)
      yield `,"defaultVariant":${JSON.stringify({ id: chosen.id, key: chosen.key, attachment: chosen.attachment })}`
    yield '}'
  }

  yield `${opened({ namespace: { key: namespace } })},"flags":[`
  yield* listOf(flags, ({ doc }) => flagOf(doc))
  yield ']}'
}

/** The texts of items with a comma between them, each of which comes in pieces itself. */
function* listOf<T>(items: readonly T[], textOf: (item: T) => Iterable<string>): Generator<string> {
  for (const [n, item] of items.entries()) {
    if (n > 0) yield ','
    yield* textOf(item)
  }
}
