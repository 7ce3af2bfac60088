/** What a constraint reads its property as. A stored constraint of a type that this program does not know is `unknown`. */
export type ConstraintType = 'string' | 'number' | 'boolean' | 'datetime' | 'entityId'

export type ConstraintInput = {
  readonly id: string
  readonly type: ConstraintType | 'unknown'
  readonly property: string
  readonly operator: string
  readonly value: string
}

/** A segment with its constraints in creation order. */
export type SegmentInput = {
  readonly key: string
  readonly matchType: 'all' | 'any'
  readonly constraints: readonly ConstraintInput[]
}

export type SegmentOperator = 'or' | 'and'

export type VariantInput = { readonly id: string; readonly key: string; readonly attachment: string }

/** Segments by key, in the rule's order; distributions in creation order, `rollout` in percent. */
export type RuleInput = {
  readonly id: string
  readonly rank: number
  readonly segments: readonly string[]
  readonly operator: SegmentOperator
  readonly distributions: readonly { readonly id: string; readonly variantId: string; readonly rollout: number }[]
}

/** `percentage` of the entities (float32), or those that the segments match, are given `value`. */
export type RolloutInput = { readonly id: string; readonly rank: number; readonly value: boolean } & (
  | { readonly type: 'threshold'; readonly percentage: number }
  | { readonly type: 'segment'; readonly segments: readonly string[]; readonly operator: SegmentOperator }
)

/** All of a flag that its answers depend on. Rules and rollouts may come in any order: rank decides. */
export type FlagInput = {
  readonly key: string
  readonly type: 'boolean' | 'variant'
  readonly enabled: boolean
  readonly variants: readonly VariantInput[]
  readonly defaultVariantId?: string | undefined
  readonly rules: readonly RuleInput[]
  readonly rollouts: readonly RolloutInput[]
}
