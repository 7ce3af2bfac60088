import { fail } from '../../base/failure.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Rule } from '../../contract/flags/rule.ts'
import { type Client, type ClientRequest, type ListBudget, listBudget, segment } from './client.ts'

type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly nextPageToken: string }

const PAGE = 1000

/**
 * Pages of a list, each requested when it is reached. Fails if the service repeats a page token, because such a list has
 * no end. Brent's algorithm finds the repetition with one stored token.
 */
export async function* pagesOf<T extends { readonly nextPageToken: string }>(
  ask: (pageToken: string, list: ListBudget) => Promise<T>,
): AsyncGenerator<T> {
  const list = listBudget()
  let [pageToken, mark, steps, most] = ['', '', 0, 1]
  do {
    const page = await ask(pageToken, list)
    yield page
    // Another service may answer without this field.
    pageToken = page.nextPageToken
    if (pageToken && pageToken === mark)
      fail(
        'failed',
        'The service sent a page token twice, so the list has no end.',
        'Check --address and ROLLCALL_ADDRESS.',
      )
    if (++steps === most) [mark, steps, most] = [pageToken, 0, 2 * most]
  } while (pageToken)
}

/** Pages of a list at a path; `whole` fails if an answer omits unreadable items. */
export const pages = <T extends { readonly nextPageToken: string }>(
  { ask }: Pick<Client, 'ask'>,
  path: string,
  query: ClientRequest['query'],
  whole = false,
): AsyncGenerator<T> =>
  pagesOf((pageToken, list) => ask<T>('GET', path, { query: { ...query, pageToken }, whole, list }))

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
  let last: P | undefined
  const ofPage = (pageToken: string, list: ListBudget) =>
    ask<P>('GET', path, { query: { ...query, limit: Math.min(most, limit - found.length), pageToken }, list })
  for await (const page of pagesOf(ofPage)) {
    found.push(...(page[name] as readonly unknown[]))
    last = page
    if (found.length >= limit) break
  }
  return { ...last!, [name]: found }
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
