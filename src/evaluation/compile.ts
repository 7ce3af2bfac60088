import { width } from './bucket.ts'
import { compileConstraint, type Constraint } from './constraint.ts'
import { type Context, textOf } from './context.ts'
import type { FlagInput, SegmentInput, SegmentOperator, VariantInput } from './flag.ts'

/** A segment ready to be asked. `faulty`: it holds a constraint of unknown type, so it cannot be asked. */
export type Segment = {
  readonly key: string
  readonly all: boolean
  readonly constraints: readonly Constraint[]
  readonly faulty: boolean
}

/** Holds when at least `needed` of the segments match. `keys` are the keys of all of them. */
export type Condition = {
  readonly segments: readonly Segment[]
  readonly keys: readonly string[]
  readonly needed: number
  readonly faulty: boolean
}

type Place = { readonly id: string; readonly rank: number }
export type Threshold = Place & { readonly type: 'threshold'; readonly percentage: number; readonly below: number; readonly value: boolean }
export type Segmented = Place & { readonly type: 'segment'; readonly condition: Condition; readonly value: boolean }
export type Rollout = Threshold | Segmented

/** `below`: the running sum of widths; the first share whose sum is above the bucket is the one chosen. */
export type Share = { readonly variant: VariantInput; readonly below: number }
export type Rule = Place & { readonly condition: Condition; readonly shares: readonly Share[] }

export type BooleanFlag = {
  readonly type: 'boolean'
  readonly key: string
  readonly enabled: boolean
  readonly rollouts: readonly Rollout[]
}
export type VariantFlag = {
  readonly type: 'variant'
  readonly key: string
  readonly enabled: boolean
  readonly rules: readonly Rule[]
  readonly defaultVariant: VariantInput | undefined
}

/** A flag read once, to be asked often. Of its parts only those of its own type are in it. */
export type Compiled = BooleanFlag | VariantFlag

/** Reads a segment once, for all the flags that name it. */
export const compileSegment = ({ key, matchType, constraints }: SegmentInput): Segment => {
  const read = constraints.map(compileConstraint)
  const known = read.filter((constraint) => constraint !== undefined)
  return { key, all: matchType === 'all' || constraints.length === 0, constraints: known, faulty: known.length < read.length }
}

/** Reads a flag once. A segment that is not there matches nobody; a distribution without its variant counts as gone. */
export const compileFlag = (flag: FlagInput, segments: ReadonlyMap<string, Segment>): Compiled => {
  const { key, enabled } = flag
  const conditionOf = (keys: readonly string[], operator: SegmentOperator) => compileCondition(keys, operator, segments)
  if (flag.type === 'boolean') {
    const rollouts = flag.rollouts.toSorted(byRank).flatMap(({ id, rank, type, threshold, segment }): Rollout[] => {
      if (type === 'threshold') return threshold ? [{ id, rank, type, ...threshold, below: Math.fround(threshold.percentage) }] : []
      return segment ? [{ id, rank, type, condition: conditionOf(segment.segments, segment.operator), value: segment.value }] : []
    })
    return { type: 'boolean', key, enabled, rollouts }
  }
  const variants = new Map(flag.variants.map((variant) => [variant.id, variant]))
  const rules = flag.rules.toSorted(byRank).map(({ id, rank, segments: keys, operator, distributions }): Rule => {
    let below = 0
    const shares = distributions.flatMap(({ variantId, rollout }): Share[] => {
      const variant = variants.get(variantId)
      if (!variant || !(rollout > 0)) return []
      below += width(rollout)
      return [{ variant, below }]
    })
    return { id, rank, condition: conditionOf(keys, operator), shares }
  })
  const defaultVariant = flag.defaultVariantId === undefined ? undefined : variants.get(flag.defaultVariantId)
  return { type: 'variant', key, enabled, rules, defaultVariant }
}

const byRank = (one: Place, other: Place): number => one.rank - other.rank

const compileCondition = (keys: readonly string[], operator: SegmentOperator, known: ReadonlyMap<string, Segment>): Condition => {
  const segments = keys.map((key) => known.get(key) ?? { key, all: false, constraints: [], faulty: false })
  const needed = operator === 'and' ? Math.max(1, keys.length) : 1
  return { segments, keys, needed, faulty: segments.some(({ faulty }) => faulty) }
}

/** Whether a constraint holds for an entity. */
export const holds = ({ property, holds: test }: Constraint, entityId: string, context: Context): boolean =>
  test(property === undefined ? entityId : textOf(context, property))

const matches = ({ all, constraints }: Segment, entityId: string, context: Context): boolean => {
  for (const constraint of constraints) if (holds(constraint, entityId, context) !== all) return !all
  return all
}

/** Keys of the matching segments, in the condition's order; undefined when the condition does not hold. */
export const matching = ({ segments, keys, needed }: Condition, entityId: string, context: Context): readonly string[] | undefined => {
  if (segments.length === 1) return matches(segments[0]!, entityId, context) ? keys : undefined
  const found = segmentsMatching(segments, entityId, context)
  return found.length < needed ? undefined : found
}

/** Keys of those segments that match. */
export const segmentsMatching = (segments: readonly Segment[], entityId: string, context: Context): readonly string[] => {
  const found: string[] = []
  for (const segment of segments) if (matches(segment, entityId, context)) found.push(segment.key)
  return found
}
