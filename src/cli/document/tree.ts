import type { Tree } from './text.ts'
import type { BySegments, Constraint, Flag, Namespace, Rollout, Rule, Segment, Variant } from '../resources.ts'

/** One namespace with all that is in it. */
export type Contents = {
  readonly namespace: Namespace
  readonly flags: readonly {
    readonly flag: Flag
    readonly rules: readonly Rule[]
    readonly rollouts: readonly Rollout[]
  }[]
  readonly segments: readonly Segment[]
}

const filled = <T extends string | readonly Tree[]>(value: T): T | undefined => (value.length === 0 ? undefined : value)
const ifTrue = (value: boolean): true | undefined => value || undefined
const operatorOf = (operator: string) => (operator === 'OR_SEGMENT_OPERATOR' ? undefined : operator)
const keysOf = ({ segmentKey, segmentKeys }: BySegments) => (segmentKey === '' ? segmentKeys : [segmentKey])

const variantTree = ({ id, key, name, description, attachment }: Variant, byDefault?: Variant): Tree => ({
  members: {
    default: ifTrue(id === byDefault?.id),
    key,
    name: filled(name),
    description: filled(description),
    attachment: attachment === '' ? undefined : { json: attachment },
  },
})

const ruleTree = (rule: Rule, place: number, keyOf: (variantId: string) => string): Tree => {
  const [only, ...others] = keysOf(rule)
  const several = { members: { keys: keysOf(rule), operator: operatorOf(rule.segmentOperator) } }
  const distributions = rule.distributions.map(({ variantId, rollout }) => ({
    members: { variant: keyOf(variantId), rollout },
  }))
  return {
    members: {
      segment: others.length === 0 ? only : several,
      rank: rule.rank === place ? undefined : rule.rank,
      distributions: filled(distributions),
    },
  }
}

const rolloutTree = ({ description, segment, threshold }: Rollout): Tree => {
  const [only, ...others] = segment ? keysOf(segment) : []
  const by = segment && {
    key: others.length === 0 ? only : undefined,
    keys: others.length === 0 ? undefined : keysOf(segment),
    operator: operatorOf(segment.segmentOperator),
    value: ifTrue(segment.value),
  }
  const share = threshold && { percentage: threshold.percentage, value: ifTrue(threshold.value) }
  return {
    members: {
      description: filled(description),
      segment: by && { members: by },
      threshold: share && { members: share },
    },
  }
}

const flagTree = (
  { flag, rules, rollouts }: Contents['flags'][number],
  keyOf: (variantId: string) => string,
): Tree => ({
  members: {
    key: flag.key,
    name: flag.name,
    type: flag.type,
    description: filled(flag.description),
    enabled: flag.enabled,
    metadata: Object.keys(flag.metadata).length === 0 ? undefined : { json: JSON.stringify(flag.metadata) },
    variants: filled(flag.variants.map((variant) => variantTree(variant, flag.defaultVariant))),
    rules: filled(rules.map((rule, n) => ruleTree(rule, n + 1, keyOf))),
    rollouts: filled(rollouts.map(rolloutTree)),
  },
})

const constraintTree = ({ type, property, operator, value, description }: Constraint): Tree => ({
  members: { type, property, operator, value: filled(value), description: filled(description) },
})

const segmentTree = ({ key, name, description, matchType, constraints }: Segment): Tree => ({
  members: {
    key,
    name,
    description: filled(description),
    match_type: matchType,
    constraints: filled(constraints.map(constraintTree)),
  },
})

/** The export document of one namespace (api.md §13), variants named by key. `lost` is told of a distribution whose variant is not there. */
export const documentTree = ({ namespace, flags, segments }: Contents, lost: (flag: Flag) => never): Tree => {
  const { key, name, description } = namespace
  const trees = flags.map((each) => {
    const keys = new Map(each.flag.variants.map((variant) => [variant.id, variant.key]))
    return flagTree(each, (id) => keys.get(id) ?? lost(each.flag))
  })
  return {
    members: {
      version: '1.4',
      namespace: { members: { key, name, description: filled(description) } },
      flags: filled(trees),
      segments: filled(segments.map(segmentTree)),
    },
  }
}
