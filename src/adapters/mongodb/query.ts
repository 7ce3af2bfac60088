import type { Document, Filter } from 'mongodb'
import { KEY, type Match, type Query, type Scalar } from '../../projections/views.ts'
import { above } from '../embedded/views/view-query.ts'
import type { StoredRow } from './rows.ts'

/** Range condition. MongoDB compares only values of the same type, so a range of text matches no numbers. */
const range = (from: Scalar | undefined, below: Scalar | undefined): Document => {
  if (from === undefined && below === undefined) return { $exists: true }
  return { ...(from !== undefined && { $gte: from }), ...(below !== undefined && { $lt: below }) }
}

const condition = (field: string, match: Match): Document => {
  if ('prefix' in match) return { [field]: range(match.prefix, above(match.prefix)) }
  // In `$in`, null matches absent fields.
  if ('equals' in match) return { [field]: { $in: match.equals.map((value) => value ?? null) } }
  const within = { [field]: range(match.from, match.below) }
  return match.orAbsent ? { $or: [within, { [field]: null }] } : within
}

const path = (field: string) => (field === KEY ? '_id' : `doc.${field}`)

/** Filter of all matches, filter of the page after `after`, and sort order of the page. */
export const filtersOf = ({ where, order, descending, after }: Query) => {
  const by = path(order)
  const [direction, past, pastOrAt] = descending ? ([-1, '$lt', '$lte'] as const) : ([1, '$gt', '$gte'] as const)
  const matching = Object.entries(where).flatMap(([field, matches]) =>
    (Array.isArray(matches) ? (matches as readonly Match[]) : [matches as Match]).map((match) =>
      condition(path(field), match),
    ),
  )
  const all = [{ [by]: { $exists: true } }, ...matching]
  // The second condition implies the first, which gives the index scan its bound.
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
