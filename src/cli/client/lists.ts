import type { Client, ClientRequest } from './client.ts'

type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly nextPageToken: string }

const PAGE = 1000

/** Pages of a list, each requested when it is reached; `whole` fails if an answer omits unreadable items. */
export async function* pages<T extends { readonly nextPageToken: string }>(
  { ask }: Pick<Client, 'ask'>,
  path: string,
  query: ClientRequest['query'],
  whole = false,
): AsyncGenerator<T> {
  let pageToken = ''
  do {
    const page = await ask<T>('GET', path, { query: { ...query, pageToken }, whole })
    yield page
    pageToken = page.nextPageToken
    // Another service may answer without this field.
  } while (pageToken)
}

/** Options of a list: `at` reads a moment (api.md §4), `whole` fails if the answer omits unreadable items. */
type Which = { readonly at?: string | undefined; readonly whole?: boolean }

/** All items of a list, over all pages. */
export const all = async <T>(
  client: Pick<Client, 'ask'>,
  path: string,
  name: string,
  { at, whole = false }: Which = {},
): Promise<readonly T[]> => {
  const found: T[] = []
  for await (const page of pages<Page<T>>(client, path, { limit: PAGE, at }, whole)) found.push(...(page[name] ?? []))
  return found
}
