/** Type of a constraint's property. A stored constraint of a type that this version does not know is `unknown`. */
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

/** Segment keys in the rule's order; distributions in creation order, `rollout` in percent. */
export type RuleInput = {
  readonly id: string
  readonly rank: number
  readonly segments: readonly string[]
  readonly operator: SegmentOperator
  readonly distributions: readonly { readonly id: string; readonly variantId: string; readonly rollout: number }[]
}

/** Gives `value` to `percentage` of the entities (float32), or to the entities that the segments match. */
export type RolloutInput = { readonly id: string; readonly rank: number; readonly value: boolean } & (
  | { readonly type: 'threshold'; readonly percentage: number }
  | { readonly type: 'segment'; readonly segments: readonly string[]; readonly operator: SegmentOperator }
)

/** Parts of a flag that determine its answers. Rules and rollouts can be in any order, because the rank counts. */
export type FlagInput = {
  readonly key: string
  readonly type: 'boolean' | 'variant'
  readonly enabled: boolean
  readonly variants: readonly VariantInput[]
  readonly defaultVariantId?: string | undefined
  readonly rules: readonly RuleInput[]
  readonly rollouts: readonly RolloutInput[]
}

/**
 * Properties of the entity. A property counts only if its value is text, so any name, including inherited ones, can be
 * looked up.
 */
export type Context = Readonly<Record<string, string>>

/**
 * Text of a property; `""` if there is none. Inherited properties of objects are not text, so `constructor` is an
 * ordinary name.
 */
export const textOf = (context: Context, name: string): string => {
  const value: unknown = context[name]
  return typeof value === 'string' ? value : ''
}
