import type { DiffItem, StateDiff } from '../../../src/contract/history/state.ts'
import { query, read } from './request.ts'

export type { DiffItem, StateDiff }

/** Subject of a comparison: one stream, or a namespace with its flags and segments. */
export type Compared = { readonly stream: string } | { readonly namespaceKey: string }

/** A resource as JSON. */
export type Json = Readonly<Record<string, unknown>>

const PAGE = 50

type Asked = { readonly a: string; readonly b?: string | undefined; readonly page?: string | undefined }

const readPage = (of: Compared, { a, b, page }: Asked, signal?: AbortSignal): Promise<StateDiff> =>
  read(`audit/v1/diff${query({ ...of, a, b, limit: PAGE, pageToken: page })}`, { signal })

const opposite = { added: 'removed', removed: 'added', changed: 'changed' } as const

/** The same difference in the other direction. */
const reversed = ({ a, b, items, ...rest }: StateDiff): StateDiff => ({
  ...rest,
  a: b,
  b: a,
  items: items.map(({ stream, kind, changes }) => ({
    stream,
    kind: opposite[kind],
    changes: changes.map(({ path, from, to }) => ({
      path,
      ...(to !== undefined && { from: to }),
      ...(from !== undefined && { to: from }),
    })),
  })),
})

/** Reads a page of the difference between two moments. An undefined moment is the present; one of both is defined. */
export const readDifference = async (
  of: Compared,
  { a, b, page }: { readonly [N in keyof Asked]?: string | undefined },
  signal?: AbortSignal,
): Promise<StateDiff> => {
  if (a !== undefined) return readPage(of, { a, b, page }, signal)
  // The API requires the first moment, so that the present is always the second one.
  return reversed(await readPage(of, { a: b ?? '', page }, signal))
}

/** Position before the first event, where nothing exists. */
const BEGINNING = '0'

/** Reads a resource at a moment as differences compare it; undefined if it does not exist then. */
export const readWhole = async (stream: string, moment: string, signal?: AbortSignal): Promise<Json | undefined> => {
  const { items } = await readPage({ stream }, { a: BEGINNING, b: moment }, signal)
  return items[0]?.changes[0]?.to as Json | undefined
}
