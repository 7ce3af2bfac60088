import type { Document, Filter } from 'mongodb'
import { KEY, type Match, type Query, type Scalar } from '../../projections/views.ts'
import { above } from '../embedded/views/view-query.ts'
import type { StoredRow } from './rows.ts'

/** Comparisons stay among values of their operand's kind: no number is found by a range of text. */
const range = (from: Scalar | undefined, below: Scalar | undefined): Document => {
  if (from === undefined && below === undefined) return { $exists: true }
  return { ...(from !== undefined && { $gte: from }), ...(below !== undefined && { $lt: below }) }
}

const condition = (field: string, match: Match): Document => {
  if ('prefix' in match) return { [field]: range(match.prefix, above(match.prefix)) }
  // Among the values asked for, null finds what is absent.
  if ('equals' in match) return { [field]: { $in: match.equals.map((value) => value ?? null) } }
  const within = { [field]: range(match.from, match.below) }
  return match.orAbsent ? { $or: [within, { [field]: null }] } : within
}

const path = (field: string) => (field === KEY ? '_id' : `doc.${field}`)

/** The filter of all that match, that of the page behind `after`, and the order of the page. */
export const filtersOf = ({ where, order, descending, after }: Query) => {
  const by = path(order)
  const [direction, past, pastOrAt] = descending ? ([-1, '$lt', '$lte'] as const) : ([1, '$gt', '$gte'] as const)
  const matching = Object.entries(where).flatMap(([field, matches]) =>
    (Array.isArray(matches) ? (matches as readonly Match[]) : [matches as Match]).map((match) =>
      condition(path(field), match),
    ),
  )
  const all = [{ [by]: { $exists: true } }, ...matching]
  // The first condition says nothing more than the second; it gives the index its bound.
  const behind = after && [
    { [by]: { [pastOrAt]: after.value } },
    { $or: [{ [by]: { [past]: after.value } }, { [by]: after.value, _id: { [past]: after.key } }] },
  ]
  return {
    total: { $and: all } as Filter<StoredRow>,
    page: { $and: [...all, ...(behind ?? [])] } as Filter<StoredRow>,
    sort: { [by]: direction, _id: direction } as const,
  }
}
