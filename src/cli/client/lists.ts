import type { Client } from './client.ts'

type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly nextPageToken: string }

const PAGE = 1000

/** Options of a list: `at` reads a moment (api.md §4), `whole` fails if the answer omits unreadable items. */
type Which = { readonly at?: string | undefined; readonly whole?: boolean }

/** All items of a list, over all pages. */
export const all = async <T>(
  { ask }: Client,
  path: string,
  name: string,
  { at, whole = false }: Which = {},
): Promise<readonly T[]> => {
  const found: T[] = []
  let pageToken = ''
  do {
    const page = await ask<Page<T>>('GET', path, { query: { limit: PAGE, pageToken, at }, whole })
    found.push(...(page[name] ?? []))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return found
}
