import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import { type Client, type ClientRequest, segment } from './client.ts'

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

/** The last of the pages with the first `limit` items of a list, and in it the items of all of them. */
export const upTo = async <P extends { readonly nextPageToken: string }>(
  { ask }: Client,
  path: string,
  name: keyof P,
  query: ClientRequest['query'],
  limit: number,
  most = PAGE,
): Promise<P> => {
  const found: unknown[] = []
  let page: P | undefined
  do {
    const paging = { limit: Math.min(most, limit - found.length), pageToken: page?.nextPageToken }
    page = await ask<P>('GET', path, { query: { ...query, ...paging } })
    found.push(...(page[name] as readonly unknown[]))
  } while (page.nextPageToken !== '' && found.length < limit)
  return { ...page, [name]: found }
}

/** A flag with its rules and rollouts, each in the order of the ranks. */
export type WholeFlag = { readonly flag: Flag; readonly rules: readonly Rule[]; readonly rollouts: readonly Rollout[] }

/** Reads the rules and rollouts of a flag, now or at a moment. */
export const wholeFlag = async (client: Client, flag: Flag, at?: string): Promise<WholeFlag> => {
  const url = `/api/v1/namespaces/${segment(flag.namespaceKey)}/flags/${segment(flag.key)}`
  const rules = await all<Rule>(client, `${url}/rules`, 'rules', { at, whole: true })
  const rollouts = await all<Rollout>(client, `${url}/rollouts`, 'rollouts', { at, whole: true })
  return { flag, rules, rollouts }
}
