import { fields } from '../../words/common.ts'
import { flag as words } from '../../words/flag.ts'
import type { FieldViolation } from '../../api/failure.ts'
import { type Flaws, same } from '../../parts/editing.ts'
import type { Draft, RolloutDraft } from './draft.ts'
import { isImprecise, metadataOf, rowFlaw } from './metadata.ts'

const lengthOf = (text: string) => [...text].length
const percent = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)$/

const rolloutFlaws = ({ id, kind, percentage, segments, description }: RolloutDraft): Flaws => ({
  ...(kind === 'threshold' && !percent.test(percentage.trim()) && { [`${id}.percentage`]: fields.percentage }),
  ...(kind === 'segment' && segments.length === 0 && { [`${id}.segments`]: words.segmentMissing }),
  ...(lengthOf(description) > 10_000 && { [`${id}.description`]: fields.tooLong(10_000, lengthOf(description)) }),
})

/** What is wrong with what a draft changes; what stays as it is is right. */
export const flawsOf = (base: Draft, draft: Draft): Flaws => {
  const { name, description, metadata, rollouts } = draft
  const found: Record<string, string> = {}
  if (name.trim() === '') found['flag.name'] = fields.nameEmpty(words.thing)
  else if (lengthOf(name) > 255) found['flag.name'] = fields.tooLong(255, lengthOf(name))
  if (lengthOf(description) > 10_000) found['flag.description'] = fields.tooLong(10_000, lengthOf(description))
  if (!same(metadata, base.metadata)) {
    for (const [n, row] of metadata.entries()) {
      const flaw = rowFlaw(row, metadata.slice(0, n))
      if (flaw) found[`flag.metadata.${n}.${flaw.field}`] = flaw.words
      else if (isImprecise(metadataOf([row]))) found[`flag.metadata.${n}.value`] = words.about.precise
    }
  }
  for (const rollout of rollouts)
    if (!base.rollouts.some((was) => same(was, rollout))) Object.assign(found, rolloutFlaws(rollout))
  return found
}

const places: readonly (readonly [RegExp, string])[] = [
  [/percentage$/, 'percentage'],
  [/^segment\b|segmentKey/, 'segments'],
  [/^(?:name|description)$/, ''],
  [/^metadata/, 'metadata.0.value'],
]

/** What the service finds wrong with what was sent, by the fields of the page; undefined where one of them is none. */
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
