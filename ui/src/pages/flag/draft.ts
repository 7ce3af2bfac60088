import type { Flag, Loaded, Rollout, Rule } from '../../api/flags.ts'
import { type MetadataRow, rowsOf } from './metadata.ts'
import { given, type Share } from './weights.ts'

/** Segments of a rollout or rule. */
export type BySegments = { readonly segments: readonly string[]; readonly match: 'any' | 'all' }

/** The id is that of the service; a new part has a temporary one until it is saved. */
export type RolloutDraft = BySegments & {
  readonly id: string
  readonly kind: 'threshold' | 'segment'
  /** Percentage as typed. */
  readonly percentage: string
  readonly value: boolean
  readonly description: string
}
export type RuleDraft = BySegments & { readonly id: string; readonly shares: readonly Share[] }
export type VariantDraft = Readonly<
  Pick<Flag['variants'][number], 'id' | 'key' | 'name' | 'description' | 'attachment'>
>

/** Draft of a flag. */
export type Draft = {
  /** Whether the flag is Boolean and has no variants. */
  readonly boolean: boolean
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly metadata: readonly MetadataRow[]
  readonly rollouts: readonly RolloutDraft[]
  readonly variants: readonly VariantDraft[]
  readonly rules: readonly RuleDraft[]
  /** Id of the default variant; empty for none. */
  readonly defaultVariant: string
}

const segmentsOf = ({
  segmentKey,
  segmentKeys,
  segmentOperator,
}: Pick<Rule, 'segmentKey' | 'segmentKeys' | 'segmentOperator'>): BySegments => ({
  segments: segmentKey === '' ? segmentKeys : [segmentKey],
  match: segmentOperator === 'AND_SEGMENT_OPERATOR' ? 'all' : 'any',
})

const rolloutDraft = ({ id, description, threshold, segment }: Rollout): RolloutDraft => ({
  id,
  kind: threshold ? 'threshold' : 'segment',
  percentage: String(threshold?.percentage ?? 50),
  ...(segment ? segmentsOf(segment) : { segments: [], match: 'any' }),
  value: threshold?.value ?? segment?.value ?? false,
  description,
})

const ruleDraft = ({ id, distributions, ...rule }: Rule): RuleDraft => ({
  id,
  ...segmentsOf(rule),
  shares: distributions.map(({ variantId, rollout }) => ({ variant: variantId, weight: String(rollout) })),
})

const variantDraft = ({ id, key, name, description, attachment }: Flag['variants'][number]): VariantDraft => ({
  id,
  key,
  name,
  description,
  attachment,
})

/** Creates the draft without changes. */
export const draftOf = ({ flag, rollouts, rules }: Loaded): Draft => ({
  boolean: flag.type === 'BOOLEAN_FLAG_TYPE',
  name: flag.name,
  description: flag.description,
  enabled: flag.enabled,
  metadata: rowsOf(flag.metadata),
  rollouts: rollouts.map(rolloutDraft),
  variants: flag.variants.map(variantDraft),
  rules: rules.map(ruleDraft),
  defaultVariant: flag.defaultVariant?.id ?? '',
})

/** Removes fields that were opened and left empty. */
export const settled = (draft: Draft): Draft => ({
  ...draft,
  rules: draft.rules.map((rule) => ({ ...rule, shares: given(rule.shares) })),
})

/** Temporary unique id of a new part. */
export const freshId = (thing: string, parts: readonly { readonly id: string }[]): string => {
  const known = new Set(parts.map(({ id }) => id))
  let n = 1
  while (known.has(`new-${thing}-${n}`)) n++
  return `new-${thing}-${n}`
}

/** Creates a new rollout. */
export const freshRollout = (id: string): RolloutDraft => ({
  id,
  kind: 'threshold',
  percentage: '50',
  segments: [],
  match: 'any',
  value: true,
  description: '',
})

/** Creates a new rule that gives the first variant to all matches. */
export const freshRule = (id: string, variants: readonly VariantDraft[]): RuleDraft => ({
  id,
  segments: [],
  match: 'any',
  shares: variants.slice(0, 1).map((variant) => ({ variant: variant.id, weight: '100' })),
})

/** Creates a new variant. */
export const freshVariant = (id: string): VariantDraft => ({ id, key: '', name: '', description: '', attachment: '' })
