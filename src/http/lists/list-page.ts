import type { Moment } from '../../as-of/as-of.ts'
import { sliced, sortSliced } from '../../base/event-loop.ts'
import { momentText } from '../../contract/readers/moment.ts'
import type { Live } from '../../projections/flag-memory/namespace-state.ts'
import type { FlagDoc } from '../../projections/flags.ts'
import type { NamespaceDoc, SegmentDoc } from '../../projections/resource-model.ts'
import { viewOf } from '../commands/resource-routes.ts'
import { takePage } from '../memory/room.ts'
import type { Call } from '../route/route.ts'
import type { FlagService } from '../services/flags.ts'
import { byOrder, leavingOut, type Order, type PageQuery, pageOf } from './paging.ts'

/** Search and sort order of a list. `q` is matched in key and name, ignoring case; `''` matches every item. */
type Search = {
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
type Placed<T> = { readonly item: T; readonly by: string; readonly order: string }

type ListPlace = Pick<Placed<unknown>, 'by' | 'order'>
const isBefore = (one: ListPlace, other: ListPlace): boolean =>
  one.by < other.by || (one.by === other.by && one.order < other.order)

/** True if the request has no search and asks for the order of creation, so that the stored list is the result. */
const isWhole = ({ q, sort, order }: Search): boolean => q === '' && sort === 'createdAt' && order === 'asc'

/** True if key or name contain the text. */
const hasText = ({ key, name }: Searched, q: string): boolean =>
  q === '' || key.toLowerCase().includes(q.toLowerCase()) || name.toLowerCase().includes(q.toLowerCase())

const sortedBy: Readonly<Record<Search['sort'], (doc: Searched, lastUsed?: string) => string>> = {
  createdAt: () => '',
  name: ({ name }) => name.toLowerCase(),
  key: ({ key }) => key,
  changedAt: ({ changedAt, updatedAt }) => changedAt ?? updatedAt,
  lastEvaluatedAt: (_, lastUsed = '') => lastUsed,
}

const placed = <T extends { readonly doc: { readonly order: string } }>(
  item: T,
  doc: Searched,
  { sort }: Search,
  lastUsed?: string,
): Placed<T> => ({ item, by: sortedBy[sort](doc, lastUsed), order: item.doc.order })

/** The items of the list in the requested order. */
const sorted = <T>(items: readonly Placed<T>[], { order }: Search): Promise<readonly Placed<T>[]> =>
  sortSliced(items, order === 'asc' ? isBefore : (one, other) => isBefore(other, one))

/** Order by sort key; the next page begins after the key of the last item shown, even if items change between pages. */
const byPlace = ({ order }: Search): Order<Placed<unknown>> => ({
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

type Docs = { readonly namespaces: NamespaceDoc; readonly flags: FlagDoc; readonly segments: SegmentDoc }
type DocKind = keyof Docs
/** Place of a document in the order of creation. */
type Created = { readonly order: string }
/** Item of a list: the document itself, or its key if the document must be loaded first. */
type Item = { readonly doc: Created }
/** Loads the first items, at least one if there are any. */
type Load<D> = (items: readonly Item[]) => Promise<readonly ({ readonly doc: D } | undefined)[]>

/** State that a GET reads. */
export type Looked = Awaited<ReturnType<typeof viewOf>>

/** Number of documents loaded at once. */
const READ = 64

const itemsOf = async (view: Looked, kind: DocKind, namespace: string): Promise<readonly Item[]> =>
  kind === 'namespaces' ? view.namespaces() : view[kind](namespace)

/** Loader of documents: to show them (`load`), or to search and sort (`peek`). */
const loadOf = <K extends DocKind>(view: Looked, kind: K, how: 'load' | 'peek' = 'load'): Load<Docs[K]> => {
  const present = async (items: readonly Item[]) => items as readonly Live<Docs[K]>[]
  if (!('load' in view)) return present
  const loads: unknown = view[how]
  return (loads as Readonly<Record<K, Load<Docs[K]>>>)[kind]
}

/** Each item with its document, in batches; unreadable documents are excluded. */
async function* documents<D>(items: readonly Item[], load: Load<D>): AsyncGenerator<readonly (readonly [Item, D])[]> {
  for (let at = 0; at < items.length; ) {
    const part = items.slice(at, at + READ)
    const rows = await load(part)
    yield rows.flatMap((row, n) => (row ? [[part[n]!, row.doc] as const] : []))
    at += rows.length
  }
}

/** The documents of a list, one after the other. */
export async function* documentsOf<K extends DocKind>(
  view: Looked,
  kind: K,
  namespace: string,
): AsyncGenerator<Docs[K]> {
  const items = await itemsOf(view, kind, namespace)
  for await (const some of sliced(documents(items, loadOf(view, kind)))) for (const [, doc] of some) yield doc
}

type Wanted<D, I> = {
  /** Values that identify the filters of `keep` in page tokens. */
  readonly filters?: readonly unknown[]
  readonly keep?: ((doc: D, lastUsed: string | undefined) => boolean) | undefined
  /** Reads the hours of last use of all items, for `keep` and for an order by last use. */
  readonly lastUses?:
    | ((view: Looked, all: readonly Created[]) => Promise<(doc: Created) => string | undefined>)
    | undefined
  /** Prepares `show` for the next documents of the page. */
  readonly prepare?: ((view: Looked, docs: readonly D[]) => Promise<void>) | undefined
  /** Returns the function that formats an item of the given state. */
  readonly show: (view: Looked) => Promise<(doc: D) => I | Promise<I>> | ((doc: D) => I | Promise<I>)
}

type ListRequest = PageQuery & Search & { readonly at: Moment | undefined }

/** One page of a list, searched and sorted (api.md §7.7), with the number of excluded documents. */
export const listPage = async <K extends DocKind, I>(
  service: FlagService,
  call: Call<unknown, ListRequest>,
  kind: K,
  namespace: string,
  { filters = [], keep, lastUses, prepare, show }: Wanted<Docs[K], I>,
) => {
  const { query } = call
  await takePage(call)
  const view = await viewOf(service, call)
  const items = await itemsOf(view, kind, namespace)
  const left = view.closed[kind](namespace)
  const loadItems = loadOf(view, kind)
  const load = async (part: readonly Item[]) => {
    const rows = await loadItems(part)
    await prepare?.(
      view,
      rows.flatMap((row) => row?.doc ?? []),
    )
    return rows
  }
  const shown = await show(view)
  const scope = [kind, ...(kind === 'namespaces' ? [] : [namespace]), momentText(query.at)]
  const listing = { names: [kind], show: ({ doc }: { readonly doc: Docs[K] }) => shown(doc) }
  if (!keep && !lastUses && isWhole(query))
    return leavingOut(service, left, await pageOf(call, service, scope, items, query, byOrder, { ...listing, load }))

  const lastUsed = await lastUses?.(
    view,
    items.map(({ doc }) => doc),
  )
  const found: Placed<Item>[] = []
  for await (const some of sliced(documents(items, loadOf(view, kind, 'peek'))))
    for (const [item, doc] of some) {
      const used = lastUsed?.(item.doc)
      if (hasText(doc, query.q) && (keep?.(doc, used) ?? true)) found.push(placed(item, doc, query, used))
    }
  const searched = [...scope, query.q, query.sort, query.order, ...filters]
  const page = await pageOf(call, service, searched, await sorted(found, query), query, byPlace(query), {
    ...listing,
    load: (part) => load(part.map(({ item }) => item)),
  })
  return leavingOut(service, left, page)
}
