import { type LoadedSegment, type SegmentOp, segmentChanges } from '../../api/segments.ts'
import type { Change } from '../../parts/editing/change-lines.tsx'
import { same } from '../../parts/editing/editing.ts'
import { byId } from '../../parts/editing/merge.ts'
import { meaningOf } from '../../parts/moment.ts'
import { operatorWords } from '../../words/operators.ts'
import { segment as words } from '../../words/segments.ts'
import { type ConstraintDraft, type Draft, kindOf, valueOf } from './draft.ts'

const comparedWith = (constraint: ConstraintDraft, same: number): string => {
  const { value, values, day } = constraint
  const kind = kindOf(constraint)
  if (kind === 'none') return ''
  if (kind === 'list') return words.values(values, same)
  return kind === 'moment' && !day && value !== '' ? words.moment(meaningOf(value, 'utc')[1]) : value
}

/** Sentence of a constraint, with the number of the values that it leaves out. */
export const sentenceOf = (constraint: ConstraintDraft, same = 0): string => {
  const { type, property, operator } = constraint
  return words.constraint(property, operatorWords(type, operator), comparedWith(constraint, same))
}

/** Sentence of a constraint with its type and description. */
const inFull = (constraint: ConstraintDraft, same = 0): string =>
  words.described(words.typed(words.types[constraint.type], sentenceOf(constraint, same)), constraint.description)

/** Like `inFull`, but of the values that both constraints have only their number, if there are several. */
const beside = (constraint: ConstraintDraft, { values: others }: ConstraintDraft): string => {
  const values = constraint.values.filter((value) => !others.includes(value))
  const same = constraint.values.length - values.length
  return same > 2 ? inFull({ ...constraint, values }, same) : inFull(constraint)
}

/** Lists the changes of a draft. */
export const changesOf = (start: Draft, draft: Draft): readonly Change[] => {
  const changes: Change[] = []
  const add = (title: string, before: string, after: string) => changes.push({ title, before, after })
  if (start.name !== draft.name) add(words.change.name, start.name, draft.name)
  if (start.description !== draft.description) add(words.change.description, start.description, draft.description)
  if (start.match !== draft.match) add(words.change.match, words.matches[start.match], words.matches[draft.match])
  const [before, after] = [byId(start.constraints), byId(draft.constraints)]
  for (const [n, was] of start.constraints.entries()) {
    const is = after.get(was.id)
    if (!is) changes.push({ title: words.change.removed(n + 1), before: inFull(was) })
    else if (!same(was, is)) add(words.change.changed(n + 1), beside(was, is), beside(is, was))
  }
  for (const is of draft.constraints)
    if (!before.has(is.id)) changes.push({ title: words.change.added, after: inFull(is) })
  return changes
}

/** Fields of a constraint in the form of the API. */
export const fieldsOf = (constraint: ConstraintDraft) => {
  const { type, property, operator, description } = constraint
  return { type, property: property.trim(), operator, value: valueOf(constraint), description }
}

/**
 * Operations that turn the segment into the draft, and for each the part that it concerns: the id of a constraint, or
 * `segment`.
 */
export const sent = (base: LoadedSegment, start: Draft, draft: Draft, reason: string) => {
  const [before, after] = [byId(start.constraints), byId(draft.constraints)]
  const all: [string, SegmentOp][] = []
  const own = {
    ...(start.name !== draft.name && { name: draft.name.trim() }),
    ...(start.description !== draft.description && { description: draft.description }),
    ...(start.match !== draft.match && {
      matchType: draft.match === 'all' ? ('ALL_MATCH_TYPE' as const) : ('ANY_MATCH_TYPE' as const),
    }),
  }
  if (Object.keys(own).length > 0) all.push(['segment', { op: 'segment.update', ...own }])
  for (const { id } of start.constraints) if (!after.has(id)) all.push([id, { op: 'constraint.delete', id }])
  for (const is of draft.constraints) {
    const was = before.get(is.id)
    if (!was) all.push([is.id, { op: 'constraint.create', ...fieldsOf(is) }])
    else if (!same(was, is)) all.push([is.id, { op: 'constraint.update', id: is.id, ...fieldsOf(is) }])
  }
  const ops = all.map(([, op]) => op)
  return { write: segmentChanges(base, ops, reason), about: all.map(([about]) => about) }
}
