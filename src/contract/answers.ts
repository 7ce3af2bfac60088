import type { ListedFlag } from './flag.ts'

/** What a rollout gives, as far as it is known without its segments. */
export type Gives = {
  readonly threshold?: { readonly percentage: number; readonly value: boolean } | undefined
  readonly segment?: { readonly value: boolean } | undefined
}
/** What answers are told from: of a Boolean flag its rollouts in their order, of a variant flag how many rules it has. */
export type AnswersFrom = Pick<ListedFlag, 'type' | 'enabled' | 'ruleCount'> & {
  readonly rollouts?: readonly Gives[] | undefined
  readonly defaultVariant?: { readonly key: string } | undefined
}

/** How many of 100 entities a threshold reaches (api.md §8.5). */
export const reachOf = (percentage: number): number => Math.min(100, Math.max(0, Math.ceil(Math.fround(percentage))))

/** What a Boolean flag answers. Rollouts are counted from 1. */
export type BooleanAnswers = {
  /** What every entity gets, whichever segments it is in. */
  readonly everybody?: boolean
  /** An entity that is in no segment gets `!otherwise` where it is among these of 100, and else `otherwise`. */
  readonly share: number
  readonly otherwise: boolean
  /** An entity may get another answer because of a segment. */
  readonly segments: boolean
  /** The rollouts behind this many are asked for no entity. */
  readonly asked: number
  /** The rollouts that answer true to some. */
  readonly trueBy: readonly number[]
}

/** What a Boolean flag answers, from its default and its rollouts in their order; the default does not switch rollouts off (api.md §8.3). */
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

/** What a flag answers now, in a few words. They hold for every entity, whichever segments it is in. */
export const answersInWords = (flag: AnswersFrom): string =>
  flag.type === 'BOOLEAN_FLAG_TYPE'
    ? booleanWords(booleanAnswers(flag.enabled, flag.rollouts ?? []))
    : variantWords(flag)

/** Which rollouts of a Boolean flag answer true though its default is false; `""` where none does. */
export const stillTrue = ({ type, enabled, rollouts = [] }: AnswersFrom): string => {
  const { trueBy } = booleanAnswers(enabled, rollouts)
  if (type !== 'BOOLEAN_FLAG_TYPE' || enabled || trueBy.length === 0) return ''
  const [last, before] = [trueBy.at(-1)!, trueBy.slice(0, -1)]
  return before.length === 0 ? `rollout ${last} answers true` : `rollouts ${before.join(', ')} and ${last} answer true`
}
