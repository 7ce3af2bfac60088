import { width } from './bucket.ts'
import type { FlagInput, SegmentInput, VariantInput } from './flag.ts'
import { type Condition, compileCondition } from './segment.ts'

type RankedItem = { readonly id: string; readonly rank: number }
export type Threshold = RankedItem & {
  readonly type: 'threshold'
  readonly percentage: number
  readonly below: number
  readonly value: boolean
}
export type Segmented = RankedItem & {
  readonly type: 'segment'
  readonly condition: Condition
  readonly value: boolean
}
type Rollout = Threshold | Segmented

/** `rollout` in percent; `below`: cumulative sum of widths. The first share whose sum exceeds the bucket is chosen. */
type Share = { readonly variant: VariantInput; readonly rollout: number; readonly below: number }
export type Rule = RankedItem & { readonly condition: Condition; readonly shares: readonly Share[] }

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

/** A compiled flag, with the parts for its type only. */
export type Compiled = BooleanFlag | VariantFlag

/**
 * Compiles a flag. `segment` returns the segment of a key. A missing segment matches no entity, and a distribution
 * without its variant is ignored.
 */
export const compileFlag = (flag: FlagInput, segment: (key: string) => SegmentInput | undefined): Compiled => {
  const { key, enabled } = flag
  if (flag.type === 'boolean') {
    const rollouts = flag.rollouts.map((rollout): Rollout => {
      const { id, rank, type, value } = rollout
      return type === 'threshold'
        ? { id, rank, type, value, percentage: rollout.percentage, below: Math.fround(rollout.percentage) }
        : { id, rank, type, value, condition: compileCondition(rollout.segments, rollout.operator, segment) }
    })
    return { type: 'boolean', key, enabled, rollouts: rollouts.sort(byRank) }
  }
  const variants = new Map(flag.variants.map((variant) => [variant.id, variant]))
  const rules = flag.rules.map(({ id, rank, segments: keys, operator, distributions }): Rule => {
    let below = 0
    const shares = distributions.flatMap(({ variantId, rollout }): Share[] => {
      const variant = variants.get(variantId)
      if (!variant || !(rollout > 0)) return []
      below += width(rollout)
      return [{ variant, rollout, below }]
    })
    return { id, rank, condition: compileCondition(keys, operator, segment), shares }
  })
  const defaultVariant = flag.defaultVariantId === undefined ? undefined : variants.get(flag.defaultVariantId)
  return { type: 'variant', key, enabled, rules: rules.sort(byRank), defaultVariant }
}

const byRank = (one: RankedItem, other: RankedItem): number => one.rank - other.rank
