import { sortSliced } from '../../base/event-loop.ts'
import type { Order } from './paging.ts'

/** Search and sort order of a list. `q` is matched in key and name, ignoring case; `''` matches every item. */
export type Search = {
  readonly q: string
  readonly sort: 'createdAt' | 'name' | 'key' | 'changedAt' | 'lastEvaluatedAt'
  readonly order: 'asc' | 'desc'
}

/** Fields of a document for search and sorting. */
type Searched = {
  readonly key: string
  readonly name: string
  readonly updatedAt: string
  readonly changedAt?: string
}

/** An item with its sort key; equal keys are ordered by creation. */
export type Placed<T> = { readonly item: T; readonly by: string; readonly order: string }

type ListPlace = Pick<Placed<unknown>, 'by' | 'order'>
const isBefore = (one: ListPlace, other: ListPlace): boolean =>
  one.by < other.by || (one.by === other.by && one.order < other.order)

/** True if the request has no search and asks for the order of creation, so that the stored list is the result. */
export const isWhole = ({ q, sort, order }: Search): boolean => q === '' && sort === 'createdAt' && order === 'asc'

/** True if key or name contain the text. */
export const hasText = ({ key, name }: Searched, q: string): boolean =>
  q === '' || key.toLowerCase().includes(q.toLowerCase()) || name.toLowerCase().includes(q.toLowerCase())

const sortedBy: Readonly<Record<Search['sort'], (doc: Searched, lastUsed?: string) => string>> = {
  createdAt: () => '',
  name: ({ name }) => name.toLowerCase(),
  key: ({ key }) => key,
  changedAt: ({ changedAt, updatedAt }) => changedAt ?? updatedAt,
  lastEvaluatedAt: (_, lastUsed = '') => lastUsed,
}

export const placed = <T extends { readonly doc: { readonly order: string } }>(
  item: T,
  doc: Searched,
  { sort }: Search,
  lastUsed?: string,
): Placed<T> => ({ item, by: sortedBy[sort](doc, lastUsed), order: item.doc.order })

/** The items of the list in the requested order. */
export const sorted = <T>(items: readonly Placed<T>[], { order }: Search): Promise<readonly Placed<T>[]> =>
  sortSliced(items, order === 'asc' ? isBefore : (one, other) => isBefore(other, one))

/** Order by sort key; the next page begins after the key of the last item shown, even if items change between pages. */
export const byPlace = ({ order }: Search): Order<Placed<unknown>> => ({
  cursor: (all, end) => {
    const last = all[end - 1]
    return last && [last.by, last.order]
  },
  behind: (all, cursor) => {
    const [by, created] = cursor as readonly [string, string]
    const last = { by, order: created }
    const found = all.findIndex((item) => (order === 'asc' ? isBefore(last, item) : isBefore(item, last)))
    return found < 0 ? all.length : found
  },
})
