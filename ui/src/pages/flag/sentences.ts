import { flag } from '../../words/flag.ts'
import { rule as ruleWords, variant as variantWords } from '../../words/variant.ts'
import type { RolloutDraft, RuleDraft, VariantDraft } from './draft.ts'

/** Sentence of a rollout. */
export const rolloutSentence = ({ kind, percentage, segments, match, value }: RolloutDraft): string =>
  kind === 'threshold' ? flag.share(percentage, value) : flag.segments(segments, match === 'all', value)

/** Key of a variant; its id if the variant was deleted. */
export const keyOf = (variants: readonly VariantDraft[], id: string): string =>
  variants.find((variant) => variant.id === id)?.key ?? id

/** Sentence of a rule. */
export const ruleSentence = ({ segments, match, shares }: RuleDraft, variants: readonly VariantDraft[]): string =>
  ruleWords.sentence(
    segments,
    match === 'all',
    shares
      .filter(({ weight }) => weight !== '')
      .map(({ variant, weight }) => ruleWords.weight(keyOf(variants, variant), weight)),
  )

const fields = ['key', 'name', 'description', 'attachment'] as const

/** Lists the fields of a variant; with `than` only those that differ. */
export const variantSentence = (variant: VariantDraft, than?: VariantDraft): string =>
  variantWords.has(
    fields
      .filter((field) => (than ? variant[field] !== than[field] : variant[field] !== ''))
      .map((field) => variantWords.field(variantWords.fields[field], variant[field])),
  )
