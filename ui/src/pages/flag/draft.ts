import type { Flag, Loaded, Rollout, Rule } from '../../api/flags.ts'
import { type MetadataRow, rowsOf } from './metadata.ts'
import { given, type Share } from './weights.ts'

/** The segments that a rollout or rule is about. */
export type BySegments = { readonly segments: readonly string[]; readonly match: 'any' | 'all' }

/** Parts are called by their id at the service, new ones as they are until they have one. */
export type RolloutDraft = BySegments & {
  readonly id: string
  readonly kind: 'threshold' | 'segment'
  /** As it was typed. */
  readonly percentage: string
  readonly value: boolean
  readonly description: string
}
export type RuleDraft = BySegments & { readonly id: string; readonly shares: readonly Share[] }
export type VariantDraft = Readonly<
  Pick<Flag['variants'][number], 'id' | 'key' | 'name' | 'description' | 'attachment'>
>

/** A flag as a person edits it; nothing of it is sent before it is saved. */
export type Draft = {
  /** The flag answers true or false, and no variants. */
  readonly boolean: boolean
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly metadata: readonly MetadataRow[]
  readonly rollouts: readonly RolloutDraft[]
  readonly variants: readonly VariantDraft[]
  readonly rules: readonly RuleDraft[]
  /** The id of the default variant; empty for none. */
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

/** The draft that changes nothing. */
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

/** The draft without fields that were opened and left empty. */
export const settled = (draft: Draft): Draft => ({
  ...draft,
  rules: draft.rules.map((rule) => ({ ...rule, shares: given(rule.shares) })),
})

/** What a part is called that has no id yet, as no other is. */
export const freshId = (thing: string, parts: readonly { readonly id: string }[]): string => {
  const known = new Set(parts.map(({ id }) => id))
  let n = 1
  while (known.has(`new-${thing}-${n}`)) n++
  return `new-${thing}-${n}`
}

/** A rollout that is not saved yet. */
export const freshRollout = (id: string): RolloutDraft => ({
  id,
  kind: 'threshold',
  percentage: '50',
  segments: [],
  match: 'any',
  value: true,
  description: '',
})

/** A rule that is not saved yet: all that it matches get the first variant. */
export const freshRule = (id: string, variants: readonly VariantDraft[]): RuleDraft => ({
  id,
  segments: [],
  match: 'any',
  shares: variants.slice(0, 1).map((variant) => ({ variant: variant.id, weight: '100' })),
})

/** A variant that is not saved yet. */
export const freshVariant = (id: string): VariantDraft => ({ id, key: '', name: '', description: '', attachment: '' })
