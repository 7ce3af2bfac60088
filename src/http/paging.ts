import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Refusal, refuse } from '../errors.ts'

const b64 = (bytes: Buffer) => bytes.toString('base64url')

/**
 * Page tokens: opaque, signed, and good only for the list and the filters they were made for (api.md §5.4, §7.7).
 * `scope` names list, parent and filters; the cursor is any JSON value.
 */
export const pageTokens = (key: Uint8Array) => {
  const mac = (scope: string, cursor: string) => createHmac('sha256', key).update(`page|${scope}|${cursor}`).digest().subarray(0, 16)
  const scopeOf = (scope: readonly unknown[]) => createHash('sha256').update(JSON.stringify(scope)).digest('base64url')
  return {
    write: (scope: readonly unknown[], cursor: unknown): string => {
      const text = b64(Buffer.from(JSON.stringify(cursor)))
      return `${text}.${b64(mac(scopeOf(scope), text))}`
    },
    read: (scope: readonly unknown[], token: string): unknown => {
      const [text = '', tag = ''] = token.split('.')
      const [given, due] = [Buffer.from(tag, 'base64url'), mac(scopeOf(scope), text)]
      if (given.length !== due.length || !timingSafeEqual(given, due)) throw invalidPageToken(token)
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
    },
  }
}
export type PageTokens = ReturnType<typeof pageTokens>

const invalidPageToken = (token: string) => new Refusal('invalid_page_token', `pageToken is not valid: "${token.slice(0, 255)}"`)

export type PageQuery = { readonly limit: number; readonly offset: number; readonly pageToken: string }
export type Page<T> = { readonly items: readonly T[]; readonly nextPageToken: string; readonly totalCount: number }

/** One page of a list held whole in memory: after the item that the token names, or from the offset. `idOf` must be stable while items come and go, and its order is the list's: numbers or texts that only grow along it. */
export const pageOf = <T>(
  tokens: PageTokens,
  scope: readonly unknown[],
  all: readonly T[],
  { limit, offset, pageToken }: PageQuery,
  cursorOf: (item: T) => string,
  isAfter: (item: T, cursor: string) => boolean,
): Page<T> => {
  let start = Math.min(offset, all.length)
  if (pageToken !== '') {
    const cursor = tokens.read(scope, pageToken)
    if (typeof cursor !== 'string') return refuse('invalid_page_token')
    const next = all.findIndex((item) => isAfter(item, cursor))
    start = next < 0 ? all.length : next
  }
  const items = all.slice(start, start + limit)
  const more = start + items.length < all.length
  return { items, nextPageToken: more ? tokens.write(scope, cursorOf(items.at(-1)!)) : '', totalCount: all.length }
}
