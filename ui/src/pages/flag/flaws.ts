import type { FieldViolation } from '../../api/failure.ts'
import { type Flaws, same } from '../../parts/editing/editing.ts'
import { isPercentage, tooLong } from '../../parts/editing/rules.ts'
import { isImprecise, jsonFlaw } from '../../parts/fields/json-flaw.ts'
import { fields } from '../../words/common.ts'
import { flag as words } from '../../words/flag.ts'
import { rule as ruleWords, variant as variantWords } from '../../words/variant.ts'
import type { Draft, RolloutDraft, RuleDraft, VariantDraft } from './draft.ts'
import { metadataOf, rowFlaw } from './metadata.ts'
import { isTooMuch, type Share, sumOf } from './weights.ts'

const most = { name: 255, description: 10_000, attachment: 1_024_000 }

/** Prefixes the fields of a part with its id. */
const inPart = (id: string, found: Readonly<Record<string, string>>): Flaws =>
  Object.fromEntries(Object.entries(found).map(([field, flaw]) => [`${id}.${field}`, flaw]))

const missing = (segments: readonly string[]) => segments.length === 0 && { segments: words.segmentMissing }

const rolloutFlaws = ({ id, kind, percentage, segments, description }: RolloutDraft): Flaws =>
  inPart(id, {
    ...(kind === 'threshold' && !isPercentage(percentage) && { percentage: fields.percentage }),
    ...(kind === 'segment' && missing(segments)),
    ...tooLong('description', description, most.description),
  })

/** Validation errors of the weights of a rule. A weight in `had` is valid even with more decimals. */
const weightFlaws = (shares: readonly Share[], had: readonly Share[]): Readonly<Record<string, string>> => {
  const wrong = shares.filter((share) => !isPercentage(share.weight) && !had.some((was) => same(was, share)))
  if (wrong.length > 0) return Object.fromEntries(wrong.map(({ variant }) => [`weight.${variant}`, fields.percentage]))
  return isTooMuch(shares) ? { weights: ruleWords.tooMuch(sumOf(shares)) } : {}
}

/** Validation errors of a rule; `had` are the saved or restored weights of this rule. */
const ruleFlaws = ({ id, segments, shares }: RuleDraft, had: readonly Share[]): Flaws =>
  inPart(id, { ...missing(segments), ...weightFlaws(shares, had) })

/** Validation error of an attachment; an empty one is valid. */
export const attachmentFlaw = (text: string): string | undefined => {
  if (text === '') return undefined
  const large = text.length * 3 > most.attachment && new TextEncoder().encode(text).length > most.attachment
  return large ? variantWords.attachmentLarge : jsonFlaw(text)
}

const keyFlaw = (key: string, others: readonly VariantDraft[]): string | undefined => {
  if (key.trim() === '') return fields.keyEmpty(variantWords.thing)
  if (others.some((other) => other.key === key)) return variantWords.keyTaken
  return tooLong('key', key, most.name).key
}

const variantFlaws = (variant: VariantDraft, variants: readonly VariantDraft[]): Flaws => {
  const { id, key, name, description, attachment } = variant
  const others = variants.filter((other) => other.id !== id)
  const [wrongKey, wrongJson] = [keyFlaw(key, others), attachmentFlaw(attachment)]
  return inPart(id, {
    ...(wrongKey !== undefined && { key: wrongKey }),
    ...tooLong('name', name, most.name),
    ...tooLong('description', description, most.description),
    ...(wrongJson !== undefined && { attachment: wrongJson }),
  })
}

const metadataFlaws = (metadata: Draft['metadata']): Flaws => {
  const found: Record<string, string> = {}
  for (const [n, row] of metadata.entries()) {
    const flaw = rowFlaw(row, metadata.slice(0, n))
    if (flaw) found[`metadata.${n}.${flaw.field}`] = flaw.words
    else if (isImprecise(metadataOf([row]))) found[`metadata.${n}.value`] = words.about.precise
  }
  return inPart('flag', found)
}

/**
 * Validation errors of the changed parts of a draft. Parts that equal those of `base` or of the restored state are not
 * checked.
 */
export const flawsOf = (base: Draft, draft: Draft, restored: Draft = base): Flaws => {
  const { name, description, metadata, rollouts, variants, rules } = draft
  const known = <K extends 'variants' | 'rollouts' | 'rules'>(of: K): readonly Draft[K][number][] => [
    ...base[of],
    ...restored[of],
  ]
  const changed = <P extends { readonly id: string }>(before: readonly P[], after: readonly P[]) =>
    after.filter((part) => !before.some((was) => same(was, part)))
  const parts = [
    ...changed(known('variants'), variants).map((variant) => variantFlaws(variant, variants)),
    ...changed(known('rollouts'), rollouts).map(rolloutFlaws),
    ...changed(known('rules'), rules).map((rule) =>
      ruleFlaws(
        rule,
        known('rules').flatMap(({ id, shares }) => (id === rule.id ? shares : [])),
      ),
    ),
  ]
  const own = inPart('flag', {
    ...(name.trim() === '' ? { name: fields.nameEmpty(words.thing) } : tooLong('name', name, most.name)),
    ...tooLong('description', description, most.description),
  })
  return Object.assign(
    {},
    ...parts,
    own,
    same(metadata, base.metadata) || same(metadata, restored.metadata) ? {} : metadataFlaws(metadata),
  ) as Flaws
}

const places: readonly (readonly [RegExp, string])[] = [
  [/percentage$/, 'percentage'],
  [/^distributions/, 'weights'],
  [/^segment\b|segmentKey/, 'segments'],
  [/^(?:key|name|description|attachment)$/, ''],
  [/^metadata/, 'metadata.0.value'],
]

/** Maps field violations to fields of the page; undefined if one of them has no field. */
export const refusedFlaws = (found: readonly FieldViolation[], about: readonly string[]): Flaws | undefined => {
  const named = found.map(({ field, description }) => {
    const [, n = '', member = ''] = /^changes\[(\d+)\]\.(.+)$/.exec(field) ?? []
    const part = about[Number(n)]
    const place = places.find(([form]) => form.test(member))
    return n === '' || part === undefined || !place ? undefined : [`${part}.${place[1] || member}`, description]
  })
  if (named.length === 0 || named.includes(undefined)) return undefined
  return Object.fromEntries(named as [string, string][])
}
