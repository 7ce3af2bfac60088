import { type Gives, reachOf } from '../../../../src/contract/answers.ts'
import type { Draft } from './draft.ts'
import { remainderOf, type Share, sizeOf } from './weights.ts'

/** Share of all entities (percent) with the same answer. */
export type Portion = {
  readonly size: number
  readonly value: boolean
  /** Whether it is the remainder that no rollout covers. */
  readonly rest: boolean
  /** Whether an earlier segment rollout can give these entities the other answer. */
  readonly depends: boolean
}

/** Converts a rollout; a percentage that is not a number counts as 0. */
export const givesOf = ({ kind, percentage, value }: Draft['rollouts'][number]): Gives =>
  kind === 'threshold' ? { threshold: { percentage: Number(percentage) || 0, value } } : { segment: { value } }

/**
 * Returns the portions in order. An entity has the same position in every share, so a later share adds only what
 * exceeds the earlier ones.
 */
export const portionsOf = ({ rollouts, enabled }: Pick<Draft, 'rollouts' | 'enabled'>): readonly Portion[] => {
  const portions: Portion[] = []
  const bySegment = new Set<boolean>()
  let given = 0
  for (const { threshold, segment } of rollouts.map(givesOf)) {
    if (segment) bySegment.add(segment.value)
    const until = threshold ? reachOf(threshold.percentage) : 0
    if (threshold && until > given) {
      const { value } = threshold
      portions.push({ size: until - given, value, rest: false, depends: bySegment.has(!value) })
      given = until
    }
  }
  if (given < 100) portions.push({ size: 100 - given, value: enabled, rest: true, depends: bySegment.has(!enabled) })
  return portions
}

/** Share (percent) of the entities of a rule with the same variant; its id is empty for none. */
export type VariantPortion = {
  readonly size: number
  readonly variant: string
  /** Whether it is the remainder that no weight covers. */
  readonly rest: boolean
}
/** Distribution of a rule; without `rule`, of the unmatched entities. */
type RulePortions = { readonly rule?: number; readonly portions: readonly VariantPortion[] }

const ofRule = (shares: readonly Share[], variant: string): readonly VariantPortion[] => {
  const weighted = shares.map((share) => ({ size: sizeOf(share), variant: share.variant, rest: false }))
  const left = { size: Math.max(0, remainderOf(shares)), variant, rest: true }
  return [...weighted, left].filter(({ size }) => size > 0)
}

/** Returns the distribution of each rule, then of the unmatched entities. A disabled flag evaluates no rules. */
export const rulePortionsOf = ({
  enabled,
  rules,
  defaultVariant,
}: Pick<Draft, 'enabled' | 'rules' | 'defaultVariant'>): readonly RulePortions[] => [
  ...(enabled ? rules.map(({ shares }, n) => ({ rule: n + 1, portions: ofRule(shares, defaultVariant) })) : []),
  { portions: ofRule([], defaultVariant) },
]
