import type { ListedFlag, PartialRule } from './flags/flag.ts'

/** Answer of a rollout, and the share of entities that a threshold covers. Contains no segments. */
export type Gives = {
  readonly threshold?: { readonly percentage: number; readonly value: boolean } | undefined
  readonly segment?: { readonly value: boolean } | undefined
}
/**
 * Input for the summary of answers: the rollouts of a Boolean flag in order, or the number of rules of a variant flag.
 */
export type AnswersFrom = Pick<ListedFlag, 'type' | 'enabled' | 'ruleCount'> & {
  readonly rollouts?: readonly Gives[] | undefined
  readonly defaultVariant?: { readonly key: string } | undefined
}

/** Number of buckets (of 100) that a threshold covers (api.md §8.5). */
export const reachOf = (percentage: number): number => Math.min(100, Math.max(0, Math.ceil(Math.fround(percentage))))

/** Number of the 1000 buckets of a rule that a weight covers (api.md §8.5). */
const bucketsOf = (weight: number): number => Math.trunc(Math.fround(Math.fround(weight) * 10))

/** Percentage that a weight gives: of the 1000 buckets of a rule, whole ones only. */
export const givenBy = (weight: number): number => bucketsOf(weight) / 10

type Weights = readonly { readonly rollout: number }[]
/** Percentage that the shares of a rule give together, if some entities get a variant and some get none. */
export const partialShare = (shares: Weights): number | undefined => {
  const given = shares.reduce((sum, { rollout }) => sum + bucketsOf(rollout), 0)
  return given > 0 && given < 1000 ? given / 10 : undefined
}

/** Effect of shares that give less than 100 %, in an engine of today. */
const NORMALISED = 'engines that evaluate by themselves give all entities to these variants'

/** Warning for shares that leave entities without a variant; undefined if they give all or none. */
export const partialShareInWords = (shares: Weights): string | undefined => {
  const given = partialShare(shares)
  return given === undefined ? undefined : `the shares give ${given} %: ${NORMALISED}`
}

/** Rules whose shares leave entities without a variant, with the percentage that the shares give. */
export const partialRules = (
  rules: readonly { readonly rank: number; readonly distributions: Weights }[],
): PartialRule[] =>
  rules.flatMap(({ rank, distributions }) => {
    const given = partialShare(distributions)
    return given === undefined ? [] : [{ rank, given }]
  })

/** Maximum number of ranks in a warning. */
const RANKS = 10

/** Warning for the rules of a flag whose shares leave entities without a variant; undefined if there is none. */
export const partialRulesInWords = (rules: readonly PartialRule[]): string | undefined => {
  const [only, ...others] = rules
  if (!only) return undefined
  if (others.length === 0) return `the shares of rule ${only.rank} give ${only.given} %: ${NORMALISED}`
  const ranks = rules.slice(0, RANKS).map(({ rank }) => rank)
  const more = rules.length > RANKS ? ` and ${rules.length - RANKS} more` : ''
  return `the shares of rules ${ranks.join(', ')}${more} give less than 100 %: ${NORMALISED}`
}

/** Percentage of a threshold, with the whole percentage that it gives if that differs. */
export const shareInWords = (percentage: string): string => {
  const [given, reach] = [Number(percentage), reachOf(Number(percentage))]
  return given === reach || Number.isNaN(reach) ? `${percentage} %` : `${percentage} % (counts as ${reach} %)`
}

/** Summary of a Boolean flag's answers. Rollouts are counted from 1. */
type BooleanAnswers = {
  /** Answer for every entity, regardless of segments. */
  readonly everybody?: boolean
  /** Number of buckets (of 100) whose entities outside all segments get `!otherwise`; the others get `otherwise`. */
  readonly share: number
  readonly otherwise: boolean
  /** True if an entity can get a different answer because it is in a segment. */
  readonly segments: boolean
  /** Number of rollouts that can be evaluated. Later rollouts are never evaluated. */
  readonly asked: number
  /** Rollouts that can return true. */
  readonly trueBy: readonly number[]
}

/**
 * Summarizes the answers of a Boolean flag from its default and its rollouts in order. The default does not disable
 * rollouts (api.md §8.3).
 */
export const booleanAnswers = (enabled: boolean, rollouts: readonly Gives[]): BooleanAnswers => {
  const bySegment: { readonly value: boolean; readonly otherBefore: number }[] = []
  const trueBy: number[] = []
  const given = { true: 0, false: 0 }
  let [reached, asked, otherwise] = [0, 0, enabled]
  for (const { threshold, segment } of rollouts) {
    if (reached === 100) break
    asked++
    const more = threshold ? Math.max(0, reachOf(threshold.percentage) - reached) : 0
    if (threshold && more > 0) given[`${threshold.value}`] += more
    if (segment) bySegment.push({ value: segment.value, otherBefore: given[`${!segment.value}`] })
    if ((threshold && more > 0 && threshold.value) || segment?.value) trueBy.push(asked)
    reached += more
    if (threshold && reached === 100) otherwise = threshold.value
  }
  if (reached < 100) given[`${enabled}`] += 100 - reached
  const share = given[`${!otherwise}`]
  const segments = bySegment.some(({ value, otherBefore }) => given[`${!value}`] > otherBefore)
  const everybody = share === 0 && !segments ? { everybody: otherwise } : {}
  return { ...everybody, share, otherwise, segments, asked, trueBy }
}

const begun = (value: boolean): string => (value ? 'True' : 'False')

const booleanWords = ({ everybody, share, otherwise, segments }: BooleanAnswers): string => {
  if (everybody !== undefined) return `${begun(everybody)} for everybody`
  if (!segments) return `${begun(!otherwise)} for ${share} %, else ${otherwise}`
  return share === 0 ? `Depends on segments, else ${otherwise}` : 'Depends on segments'
}

const variantWords = ({ enabled, ruleCount = 0, defaultVariant }: AnswersFrom): string => {
  const rest = defaultVariant ? `default ${defaultVariant.key}` : 'no variant'
  const ruled = enabled && ruleCount > 0
  return `${enabled ? 'On' : 'Off'}: ${ruled ? `depends on segments, else ${rest}` : `no match, ${rest} for everybody`}`
}

/** Describes a flag's current answers in a few words, valid for every entity regardless of its segments. */
export const answersInWords = (flag: AnswersFrom): string =>
  flag.type === 'BOOLEAN_FLAG_TYPE'
    ? booleanWords(booleanAnswers(flag.enabled, flag.rollouts ?? []))
    : variantWords(flag)

/** Names the rollouts that return true although the default of the Boolean flag is false; `""` if no rollout does. */
export const stillTrue = ({ type, enabled, rollouts = [] }: AnswersFrom): string => {
  const { trueBy } = booleanAnswers(enabled, rollouts)
  if (type !== 'BOOLEAN_FLAG_TYPE' || enabled || trueBy.length === 0) return ''
  const [last, before] = [trueBy.at(-1)!, trueBy.slice(0, -1)]
  return before.length === 0 ? `rollout ${last} answers true` : `rollouts ${before.join(', ')} and ${last} answer true`
}
