import { invalid, refuse } from '../../base/errors.ts'
import { changed, changes, moved, replaced, without } from '../../events/change.ts'
import type { Distribution, Move, Rule, SegmentOperator, Use } from '../../events/flag.ts'
import { shortFloat32 } from '../../events/flag.ts'
import { type Decide, type Evolve, type Flag, lives, naming, noFlag, type OfFlag, used } from './state.ts'

type Ranked = { readonly id: string; readonly rank: number }

const HIGHEST = 2 ** 31 - 1

/**
 * Returns the requested rank, or the next one after the last for 0 (api.md §7.6). Refuses an occupied rank with
 * `rank_taken`.
 */
export const freeRank = (parts: readonly Ranked[], asked: number): number => {
  const rank = asked || Math.min(HIGHEST, Math.max(0, ...parts.map((part) => part.rank)) + 1)
  return parts.some((part) => part.rank === rank) ? refuse('rank_taken', `rank number: ${rank} already exists`) : rank
}

/** Rank changes that number the rules or rollouts from 1 to n in the given order. */
export const numbered = (parts: readonly Ranked[]): Move[] =>
  parts.flatMap(({ id, rank }, n) => (rank === n + 1 ? [] : [{ id, from: rank, to: n + 1 }]))

/**
 * Rank changes that put the listed rules or rollouts first, in the given order, and keep the order of all rules or
 * rollouts that are not listed. Refuses an unknown id.
 */
export const ordered = (parts: readonly Ranked[], ids: readonly string[], field: string): Move[] => {
  const listed = new Map(parts.map((part) => [part.id, part]))
  const asked = new Set(ids)
  const first = Array.from(asked, (id) => listed.get(id) ?? invalid(field, `contains unknown id "${id}"`))
  return numbered([...first, ...parts.filter(({ id }) => !asked.has(id))])
}

/** `reservations`: the new reservations for segments that the rule does not use yet. */
type RuleRequest = OfFlag & {
  readonly id: string
  readonly segments: readonly string[]
  readonly operator: SegmentOperator
  readonly reservations: readonly Use[]
}
type OfRule = OfFlag & { readonly rule: string }

export type RuleCommands = {
  /** `rank` 0 = last. */
  AddRule: RuleRequest & { readonly rank: number }
  UpdateRule: RuleRequest
  RemoveRule: OfFlag & { readonly id: string }
  /** `field`: name of the ids in the request. */
  OrderRules: OfFlag & { readonly ids: readonly string[]; readonly field?: string }
  AddDistribution: OfRule & { readonly distribution: Distribution }
  UpdateDistribution: OfRule & { readonly distribution: Distribution }
  RemoveDistribution: OfRule & { readonly id: string; readonly variantId: string }
}

/** Refuses a new or changed rule whose flag or segment is missing (api.md §7.8). */
export const noRuleParent = ({ namespace, key }: OfFlag, segment: string): never =>
  refuse('not_found', `flag "${namespace}/${key}" or segment "${namespace}/${segment}" not found`)

/**
 * Normalizes the operator of several segments. For a single segment the result is `or`, because `or` and `and` are then
 * equivalent.
 */
export const operatorOf = (segments: readonly Use[], operator: SegmentOperator): SegmentOperator =>
  segments.length > 1 ? operator : 'or'

/** Returns the rule of a distribution. Refuses if the flag does not have the rule or the variant. */
const ruleOf = (flag: Flag, { rule: id, ...of }: OfRule, variantId: string): Flag['rules'][number] => {
  const rule = flag.rules.find((rule) => rule.id === id)
  const variant = flag.variants.some((variant) => variant.id === variantId)
  if (rule && variant) return rule
  return refuse(
    'not_found',
    `variant "${variantId}", rule "${id}", flag "${of.key}" in namespace "${of.namespace}" not found`,
  )
}

/** Distribution with the shortest decimal of its share. */
const shortened = (distribution: Distribution): Distribution => ({
  ...distribution,
  rollout: shortFloat32(distribution.rollout),
})

const withinHundred = (distributions: readonly Distribution[], rollout: number): void => {
  const total = distributions.reduce((sum, each) => sum + each.rollout, rollout)
  if (total > 100.001) invalid('rollout', 'distributions of a rule must not exceed 100 in total')
}

export const decideRules: Decide<RuleCommands> = {
  AddRule: (flag, { id, rank, segments, operator, reservations, ...of }) => {
    if (!lives(flag, of)) return noRuleParent(of, segments[0]!)
    if (flag.rules.some((rule) => rule.id === id)) return []
    const free = freeRank(flag.rules, rank)
    const uses = used(flag, segments, [], reservations)
    return [
      {
        type: 'RuleAdded',
        data: { ...naming(of), rule: { id, rank: free, segments: uses, operator: operatorOf(uses, operator) } },
      },
    ]
  },

  UpdateRule: (flag, { id, segments, operator, reservations, ...of }) => {
    const rule = flag.rules.find((rule) => rule.id === id)
    if (!rule) return refuse('not_found', `rule "${of.namespace}/${id}" not found`)
    const uses = used(flag, segments, rule.segments, reservations)
    const found = changes<Pick<Rule, 'segments' | 'operator'>>(rule, {
      segments: uses,
      operator: operatorOf(uses, operator),
    })
    return found ? [{ type: 'RuleUpdated', data: { ...naming(of), rule: { id, ...found } } }] : []
  },

  RemoveRule: ({ rules }, { id, ...of }) =>
    rules.some((rule) => rule.id === id)
      ? [{ type: 'RuleRemoved', data: { ...naming(of), rule: id, moved: numbered(without(rules, id)) } }]
      : [],

  OrderRules: (flag, { ids, field = 'ruleIds', ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    const moves = ordered(flag.rules, ids, field)
    return moves.length > 0 ? [{ type: 'RulesReordered', data: { ...naming(of), moved: moves } }] : []
  },

  AddDistribution: (flag, { distribution, ...of }) => {
    const { distributions } = ruleOf(flag, of, distribution.variantId)
    if (distributions.some(({ id }) => id === distribution.id)) return []
    withinHundred(distributions, distribution.rollout)
    return [
      { type: 'DistributionAdded', data: { ...naming(of), rule: of.rule, distribution: shortened(distribution) } },
    ]
  },

  UpdateDistribution: (flag, { distribution, ...of }) => {
    const { distributions } = ruleOf(flag, of, distribution.variantId)
    const present = distributions.find(({ id }) => id === distribution.id)
    if (!present) return refuse('not_found', `distribution "${distribution.id}" not found`)
    const found = changes<Omit<Distribution, 'id'>>(shortened(present), shortened(distribution))
    if (!found) return []
    withinHundred(without(distributions, distribution.id), distribution.rollout)
    return [
      {
        type: 'DistributionUpdated',
        data: { ...naming(of), rule: of.rule, distribution: { id: distribution.id, ...found } },
      },
    ]
  },

  RemoveDistribution: ({ rules }, { rule: ruleId, id, variantId, ...of }) => {
    const present = rules.find((rule) => rule.id === ruleId)?.distributions.find((part) => part.id === id)
    if (present?.variantId !== variantId) return []
    return [{ type: 'DistributionRemoved', data: { ...naming(of), rule: ruleId, distribution: id } }]
  },
}

type Distributions = readonly Distribution[]
const inRule = (flag: Flag, id: string, by: (distributions: Distributions) => Distributions): Flag => ({
  ...flag,
  rules: replaced(flag.rules, id, (rule) => ({ ...rule, distributions: by(rule.distributions) })),
})

export const evolveRules: Evolve<
  | 'RuleAdded'
  | 'RuleUpdated'
  | 'RuleRemoved'
  | 'RulesReordered'
  | 'DistributionAdded'
  | 'DistributionUpdated'
  | 'DistributionRemoved'
> = {
  RuleAdded: (flag, { rule }) => ({ ...flag, rules: moved([...flag.rules, { ...rule, distributions: [] }], []) }),
  RuleUpdated: (flag, { rule }) => ({ ...flag, rules: replaced(flag.rules, rule.id, (part) => changed(part, rule)) }),
  RuleRemoved: (flag, { rule, moved: moves }) => ({ ...flag, rules: moved(without(flag.rules, rule), moves) }),
  RulesReordered: (flag, { moved: moves }) => ({ ...flag, rules: moved(flag.rules, moves) }),
  DistributionAdded: (flag, { rule, distribution }) => inRule(flag, rule, (parts) => [...parts, distribution]),
  DistributionUpdated: (flag, { rule, distribution }) =>
    inRule(flag, rule, (parts) => replaced(parts, distribution.id, (part) => changed(part, distribution))),
  DistributionRemoved: (flag, { rule, distribution }) => inRule(flag, rule, (parts) => without(parts, distribution)),
}
