import { type Gives, reachOf } from '../../../../src/contract/answers.ts'
import type { Draft } from './draft.ts'
import { remainderOf, type Share } from './weights.ts'

/** A part of all entities, in percent, and what they get. */
export type Portion = {
  readonly size: number
  readonly value: boolean
  /** It is what no share gives. */
  readonly rest: boolean
  /** Entities in a segment of an earlier rollout get another answer. */
  readonly depends: boolean
}

/** What a rollout gives; what is no number yet reaches nobody. */
export const givesOf = ({ kind, percentage, value }: Draft['rollouts'][number]): Gives =>
  kind === 'threshold' ? { threshold: { percentage: Number(percentage) || 0, value } } : { segment: { value } }

/** What shares of the entities get, in order: an entity is at the same place in every share, so a later one gives what it has beyond those before it. */
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

/** A part of those that a rule matches, in percent, and the id of the variant that they get; empty for none. */
export type VariantPortion = {
  readonly size: number
  readonly variant: string
  /** It is what no weight gives. */
  readonly rest: boolean
}
/** What one rule gives to those that it matches; without its number what all others get. */
export type RulePortions = { readonly rule?: number; readonly portions: readonly VariantPortion[] }

const ofRule = (shares: readonly Share[], variant: string): readonly VariantPortion[] => {
  const weighted = shares.map((share) => ({ size: Number(share.weight) || 0, variant: share.variant, rest: false }))
  const left = { size: Math.max(0, remainderOf(shares)), variant, rest: true }
  return [...weighted, left].filter(({ size }) => size > 0)
}

/** What each rule gives, in order, and what all others get; a flag that is off asks no rule. */
export const rulePortionsOf = ({
  enabled,
  rules,
  defaultVariant,
}: Pick<Draft, 'enabled' | 'rules' | 'defaultVariant'>): readonly RulePortions[] => [
  ...(enabled ? rules.map(({ shares }, n) => ({ rule: n + 1, portions: ofRule(shares, defaultVariant) })) : []),
  { portions: ofRule([], defaultVariant) },
]
