import type { FieldViolation } from '../../api/failure.ts'
import { type ChangedSegment, type LoadedSegment, readSegment, readSegments } from '../../api/segments.ts'
import { type Editing, type Flaws, same } from '../../parts/editing/editing.ts'
import { changedInVain, mergedParts, ofEach } from '../../parts/editing/merge.ts'
import { tooLong } from '../../parts/editing/rules.ts'
import { fields } from '../../words/common.ts'
import { segment as words } from '../../words/segments.ts'
import { changesOf, sent, sentenceOf } from './changes.ts'
import { type ConstraintDraft, type Draft, draftOf, kindOf, settled } from './draft.ts'
import { isListNumber } from './number.ts'

const MOST_VALUES = 100

const valueFlaw = (constraint: ConstraintDraft): string | undefined => {
  const { type, value, values } = constraint
  const kind = kindOf(constraint)
  if (kind === 'none') return undefined
  if (kind === 'moment') return value === '' ? fields.expiryMissing : undefined
  if (kind === 'text') return value === '' ? words.valueMissing : undefined
  if (values.length === 0) return words.valueMissing
  if (values.length > MOST_VALUES) return words.tooMany(MOST_VALUES, values.length)
  const wrong = type === 'NUMBER_COMPARISON_TYPE' ? values.find((one) => !isListNumber(one)) : undefined
  return wrong === undefined ? undefined : words.notNumber(wrong)
}

const constraintFlaws = (constraint: ConstraintDraft): Flaws => {
  const { id, property, description } = constraint
  const wrong = property.trim() === '' ? words.propertyMissing : tooLong('property', property, 255).property
  const value = valueFlaw(constraint)
  const long = tooLong('description', description, 10_000).description
  return {
    ...(wrong !== undefined && { [`${id}.property`]: wrong }),
    ...(value !== undefined && { [`${id}.value`]: value }),
    ...(long !== undefined && { [`${id}.description`]: long }),
  }
}

/**
 * Validation errors of the changed parts of a draft. Parts that equal those of `start` or of the restored state are not
 * checked.
 */
const flawsOf = (start: Draft, { name, description, constraints }: Draft, restored: Draft = start): Flaws => {
  const known = [...start.constraints, ...restored.constraints]
  const parts = constraints.filter((is) => !known.some((was) => same(was, is))).map(constraintFlaws)
  const own = {
    ...(name.trim() === '' ? { name: fields.nameEmpty(words.thing) } : tooLong('name', name, 255)),
    ...tooLong('description', description, 10_000),
  }
  const named = Object.entries(own).map(([field, flaw]): readonly [string, string] => [`segment.${field}`, flaw])
  return Object.fromEntries([...parts.flatMap((part) => Object.entries(part)), ...named])
}

/** Maps field violations to fields of the page; undefined if one of them has no field. */
const refusedFlaws = (found: readonly FieldViolation[], about: readonly string[]): Flaws | undefined => {
  const named = found.flatMap(({ field, description }): readonly (readonly [string, string])[] => {
    const [, n = '', member = ''] = /^changes\[(\d+)\]\.(name|description|property|value)$/.exec(field) ?? []
    const part = about[Number(n)]
    return n === '' || part === undefined ? [] : [[`${part}.${member}`, description]]
  })
  return named.length === 0 || named.length < found.length ? undefined : Object.fromEntries(named)
}

export const segmentEditing: Editing<LoadedSegment, Draft, ChangedSegment> = {
  thing: words.thing,
  draftOf,
  settled,
  changesOf,
  flawsOf,
  merge: (base, mine, theirs) => {
    const three = { base: base.constraints, mine: mine.constraints, theirs: theirs.constraints }
    return {
      draft: { ...ofEach(base, mine, theirs), constraints: mergedParts(three) },
      left: changedInVain(three).map(sentenceOf),
    }
  },
  sent,
  answered: ({ segment }, revision) => ({ segment, revision }),
  refusedFlaws,
  readAgain: async ({ segment: { namespaceKey, key } }) => {
    const [theirs, { segments }] = await Promise.all([
      readSegment(namespaceKey, key, undefined),
      readSegments(namespaceKey, { q: key, sort: 'changedAt', order: 'desc' }),
    ])
    const listed = segments.find((one) => one.key === key)
    return { theirs, by: listed?.changedBy, at: listed?.changedAt }
  },
}
