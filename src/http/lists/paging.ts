import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { partsOf } from '../../base/concurrency.ts'
import { Refusal } from '../../base/errors.ts'
import { sliced } from '../../base/event-loop.ts'
import type { Names } from '../../contract/identifiers.ts'
import { hasRoomFor, type Of, takePage } from '../memory/room.ts'
import type { PageTokens } from '../services/flags.ts'
import { type Gathered, listed } from '../wire/pieces.ts'
import { type Answer, type Json, jsonOf } from '../wire/reply.ts'

const b64 = (bytes: Buffer) => bytes.toString('base64url')

/**
 * Page tokens: opaque, signed, and valid only for their list and filters (api.md §5.4, §7.7). `scope` contains list,
 * parent and filters; the cursor is any JSON value.
 */
export const pageTokens = (key: Uint8Array): PageTokens => {
  const mac = (scope: string, cursor: string) =>
    createHmac('sha256', key).update(`page|${scope}|${cursor}`).digest().subarray(0, 16)
  const scopeOf = (scope: readonly unknown[]) => createHash('sha256').update(JSON.stringify(scope)).digest('base64url')
  return {
    write: (scope: readonly unknown[], cursor: unknown): string => {
      const text = b64(Buffer.from(JSON.stringify(cursor)))
      return `${text}.${b64(mac(scopeOf(scope), text))}`
    },
    /**
     * Returns the cursor of a page token that was written for this scope; refuses all other texts with 400
     * `invalid_page_token`.
     */
    read: (scope: readonly unknown[], token: string): unknown => {
      const [text = ''] = token.split('.', 1)
      const [given, due] = [Buffer.from(token), Buffer.from(`${text}.${b64(mac(scopeOf(scope), text))}`)]
      if (given.length !== due.length || !timingSafeEqual(given, due)) throw invalidPageToken(token)
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
    },
  }
}
const invalidPageToken = (token: string) => new Refusal('invalid_page_token', `pageToken is not valid: "${token}"`)

export type PageQuery = { readonly limit: number; readonly offset: number; readonly pageToken: string }

/**
 * Continuation of a list that changes between pages. `cursor` describes the first `end` items; `behind` returns the
 * number of items before the next page.
 */
export type Order<T> = {
  readonly cursor: (all: readonly T[], end: number) => unknown
  readonly behind: (all: readonly T[], cursor: unknown) => number
}

const firstOf = <T>(all: readonly T[], holds: (item: T) => boolean): number => {
  const found = all.findIndex(holds)
  return found < 0 ? all.length : found
}

type Ordered = { readonly doc: { readonly order: string } }
/** Order of creation: the order key only grows along the list and never changes. */
export const byOrder: Order<Ordered> = {
  cursor: (all, end) => all[end - 1]?.doc.order,
  behind: (all, order) => firstOf(all, ({ doc }) => doc.order > (order as string)),
}

const REMEMBERED = 8

/**
 * Order of rank. A removal renumbers all later items, so the cursor contains the ids of the last items; their rank
 * counts only if all of them are gone.
 */
export const byRank: Order<{ readonly id: string; readonly rank: number }> = {
  cursor: (all, end) => {
    const last = all.slice(Math.max(0, end - REMEMBERED), end).reverse()
    return { rank: last[0]?.rank, ids: last.map(({ id }) => id) }
  },
  behind: (all, cursor) => {
    const { rank, ids } = cursor as { readonly rank: number; readonly ids: readonly string[] }
    for (const id of ids) {
      const found = all.findIndex((item) => item.id === id)
      if (found >= 0) return found + 1
    }
    return firstOf(all, (item) => item.rank > rank)
  },
}

const PAGE_MAX = 1000

/** Adds a header with the number of unreadable documents, if any (api.md §4). */
export const leavingOut = <T>({ names }: { readonly names: Names }, count: number, answer: Answer<T>): Answer<T> =>
  count === 0 ? answer : { ...answer, headers: { ...answer.headers, [names.unreadableHeader]: String(count) } }

/**
 * Form of a list: the names of the array members, all with the same items, and the form of an item. `load` reads the
 * first of the remaining items, at least one; an unreadable item is excluded.
 */
type Listing<T, L, N extends string, I> = {
  readonly names: readonly N[]
  readonly show: (item: L) => I | Promise<I>
  readonly load: (items: readonly T[]) => readonly L[] | Promise<readonly (L | undefined)[]>
}

/** Number of items formatted at once. */
const SHOWN = 8

/** The forms of the items in groups; undefined for an unreadable item. */
async function* formsOf<T, L, I>(items: readonly T[], { show, load }: Pick<Listing<T, L, never, I>, 'show' | 'load'>) {
  for (let at = 0; at < items.length; ) {
    const loaded = await load(items.slice(at))
    for (const part of partsOf(loaded, SHOWN)) yield await Promise.all(part.map(async (item) => item && show(item)))
    at += loaded.length
  }
}

/**
 * JSON texts of the first items, until the next one exceeds the page or the memory of the answer, and the number of
 * items used. The first item is always on the page.
 */
const shownOf = async <I>(
  { request }: Of,
  forms: AsyncIterable<readonly (I | undefined)[]>,
  most: number,
  times: number,
): Promise<{ readonly gathered: Gathered<I>; readonly taken: number }> => {
  const pieces: Json<I>[] = []
  let [bytes, taken] = [0, 0]
  for await (const part of sliced(forms))
    for (const form of part) {
      if (form !== undefined) {
        const piece = jsonOf(form)
        const next = bytes + Buffer.byteLength(piece) + 1
        if (pieces.length > 0 && (next > most || !hasRoomFor(request, next * times)))
          return { gathered: { pieces, bytes }, taken }
        pieces.push(piece)
        bytes = next
      }
      taken++
    }
  return { gathered: { pieces, bytes }, taken }
}

/**
 * One page of a fully known list (api.md §7.7). The page begins after the items of the page token, or at the offset,
 * and ends before it exceeds the size limit.
 */
export const pageOf = async <T, L, N extends string, I>(
  of: Of,
  { pageTokens, settings }: { readonly pageTokens: PageTokens; readonly settings: { readonly mostBytes: number } },
  scope: readonly unknown[],
  all: readonly T[],
  { limit, offset, pageToken }: PageQuery,
  order: Order<T>,
  { names, ...shown }: Listing<T, L, N, I>,
) => {
  const start = pageToken === '' ? Math.min(offset, all.length) : order.behind(all, pageTokens.read(scope, pageToken))
  const items = all.slice(start, start + (limit === 0 ? PAGE_MAX : Math.min(limit, PAGE_MAX)))
  await takePage(of)
  const { gathered, taken } = await shownOf(of, formsOf(items, shown), settings.mostBytes / names.length, names.length)
  const end = start + taken
  const nextPageToken = end < all.length ? pageTokens.write(scope, order.cursor(all, end)) : ''
  return listed(names, gathered, { nextPageToken, totalCount: all.length })
}
