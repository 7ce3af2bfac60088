import type { Merged } from '../../parts/editing/editing.ts'
import { byId, changedInVain, mergedParts, ofEach, type Three } from '../../parts/editing/merge.ts'
import { rule as ruleWords, variant as variantWords } from '../../words/variant.ts'
import type { Draft, RuleDraft } from './draft.ts'
import { keyOf, rolloutSentence, ruleSentence } from './sentences.ts'

/** Removes the weights of variants that no longer exist. */
export const withVariants = (rule: RuleDraft, variants: Draft['variants']): RuleDraft => {
  const there = byId(variants)
  const shares = rule.shares.filter(({ variant }) => there.has(variant))
  return shares.length === rule.shares.length ? rule : { ...rule, shares }
}

/** Rebases the own changes on the present state. */
export const merge = (base: Draft, mine: Draft, theirs: Draft): Merged<Draft> => {
  const three = <K extends 'rollouts' | 'variants' | 'rules'>(of: K) =>
    ({ base: base[of], mine: mine[of], theirs: theirs[of] }) as Three<Draft[K][number]>
  const [rollouts, variants, rules] = [three('rollouts'), three('variants'), three('rules')]
  const merged = mergedParts(variants)
  const own = ofEach(base, mine, theirs)
  const found = mergedParts(rules)
  // Weights of a variant that the other side deleted are lost, including changed ones.
  const lostWeights = found.flatMap((rule) =>
    rule.shares
      .filter(({ variant }) => byId(mine.variants).has(variant) && !byId(merged).has(variant))
      .map(({ variant }) => ruleWords.left(keyOf(mine.variants, variant), ruleSentence(rule, mine.variants))),
  )
  const [there, wanted] = [byId(merged), own.defaultVariant]
  const lostDefault = wanted !== '' && !there.has(wanted)
  return {
    draft: {
      ...own,
      rollouts: mergedParts(rollouts),
      variants: merged,
      rules: found.map((rule) => withVariants(rule, merged)),
      defaultVariant: [wanted, theirs.defaultVariant].find((id) => there.has(id)) ?? '',
    },
    left: [
      ...changedInVain(rollouts).map(rolloutSentence),
      ...changedInVain(variants).map(({ key }) => variantWords.left(key)),
      ...changedInVain(rules).map((rule) => ruleSentence(rule, mine.variants)),
      ...lostWeights,
      ...(lostDefault && byId(mine.variants).has(wanted) ? [variantWords.defaultIs(keyOf(mine.variants, wanted))] : []),
    ],
  }
}
