import type { Client } from './client.ts'

type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly nextPageToken: string }

const PAGE = 1000

/** Every item of a list, page after page; `at` looks at a moment (api.md §4). */
export const all = async <T>({ ask }: Client, path: string, name: string, at?: string): Promise<readonly T[]> => {
  const found: T[] = []
  let pageToken = ''
  do {
    const page = await ask<Page<T>>('GET', path, { query: { limit: PAGE, pageToken, at } })
    found.push(...(page[name] ?? []))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return found
}
