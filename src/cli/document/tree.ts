import type { Constraint } from '../../contract/flags/constraint.ts'
import type { Distribution } from '../../contract/flags/distribution.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import type { Segment } from '../../contract/flags/segment.ts'
import type { Variant } from '../../contract/flags/variant.ts'
import type { Namespace } from '../../contract/namespace.ts'
import type { WholeFlag } from '../client/contents.ts'
import type { documented, MemberOf } from './members.ts'
import type { Tree } from './text.ts'

/** A namespace with its content. */
export type Contents = {
  readonly namespace: Namespace
  readonly flags: readonly WholeFlag[]
  readonly segments: readonly Segment[]
}

/** Fields of a resource in the order of the document. */
type Members<R extends keyof typeof documented> = { readonly [name in MemberOf<R>]: Tree | undefined }
type BySegments = Pick<Rule, 'segmentKey' | 'segmentKeys' | 'segmentOperator'>

const filled = <T extends string | readonly Tree[]>(value: T): T | undefined => (value.length === 0 ? undefined : value)
const ifTrue = (value: boolean): true | undefined => value || undefined
const operatorOf = (operator: BySegments['segmentOperator']) =>
  operator === 'OR_SEGMENT_OPERATOR' ? undefined : operator
const keysOf = ({ segmentKey, segmentKeys }: BySegments) => (segmentKey === '' ? segmentKeys : [segmentKey])

const variantTree = ({ id, key, name, description, attachment }: Variant, byDefault?: Variant): Tree => ({
  members: {
    default: ifTrue(id === byDefault?.id),
    key,
    name: filled(name),
    description: filled(description),
    attachment: attachment === '' ? undefined : { json: attachment },
  } satisfies Members<'variant'> & { readonly default: Tree | undefined },
})

const ruleTree = (rule: Rule, place: number, keyOf: (variantId: string) => string): Tree => {
  const [only, ...others] = keysOf(rule)
  const several = { members: { keys: keysOf(rule), operator: operatorOf(rule.segmentOperator) } }
  const distributions = rule.distributions.map(({ variantId, rollout }: Distribution) => ({
    members: { variant: keyOf(variantId), rollout } satisfies Members<'distribution'>,
  }))
  return {
    members: {
      segment: others.length === 0 ? only : several,
      rank: rule.rank === place ? undefined : rule.rank,
      distributions: filled(distributions),
    } satisfies Members<'rule'>,
  }
}

const rolloutTree = ({ description, segment, threshold }: Rollout): Tree => {
  const [only, ...others] = segment ? keysOf(segment) : []
  const by =
    segment &&
    ({
      key: others.length === 0 ? only : undefined,
      keys: others.length === 0 ? undefined : keysOf(segment),
      operator: operatorOf(segment.segmentOperator),
      value: ifTrue(segment.value),
    } satisfies Members<'rolloutSegment'>)
  const share =
    threshold &&
    ({
      percentage: threshold.percentage,
      value: ifTrue(threshold.value),
    } satisfies Members<'rolloutThreshold'>)
  return {
    members: {
      description: filled(description),
      segment: by && { members: by },
      threshold: share && { members: share },
    } satisfies Members<'rollout'>,
  }
}

const flagTree = ({ flag, rules, rollouts }: WholeFlag, keyOf: (variantId: string) => string): Tree => ({
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
  } satisfies Members<'flag'> & { readonly [name in 'rules' | 'rollouts']: Tree | undefined },
})

const constraintTree = ({ type, property, operator, value, description }: Constraint): Tree => ({
  members: {
    type,
    property,
    operator,
    value: filled(value),
    description: filled(description),
  } satisfies Members<'constraint'>,
})

const segmentTree = ({ key, name, description, matchType, constraints }: Segment): Tree => ({
  members: {
    key,
    name,
    description: filled(description),
    match_type: matchType,
    constraints: filled(constraints.map(constraintTree)),
  } satisfies Members<'segment'>,
})

/**
 * Export document of one namespace (api.md §13). Distributions refer to variants by key; `lost` is called if the
 * variant does not exist.
 */
export const documentTree = ({ namespace, flags, segments }: Contents, lost: (flag: Flag) => never): Tree => {
  const { key, name, description } = namespace
  const trees = flags.map((each) => {
    const keys = new Map(each.flag.variants.map((variant) => [variant.id, variant.key]))
    return flagTree(each, (id) => keys.get(id) ?? lost(each.flag))
  })
  return {
    members: {
      version: '1.4',
      // An import takes an absent description as unchanged.
      namespace: { members: { key, name, description } satisfies Members<'namespace'> },
      flags: filled(trees),
      segments: filled(segments.map(segmentTree)),
    },
  }
}
