import { width } from './bucket.ts'
import type { FlagInput, SegmentOperator, VariantInput } from './flag.ts'
import { compileCondition, type Condition, type Segment } from './segment.ts'

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
