import type { Client } from './client.ts'

/** The flag API as it answers (api.md §7.2), as far as the command line reads it. */
export type Namespace = { readonly key: string; readonly name: string; readonly description: string }
export type Variant = {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly description: string
  readonly attachment: string
}
export type Flag = {
  readonly key: string
  readonly namespaceKey: string
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly type: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly variants: readonly Variant[]
  readonly defaultVariant?: Variant
  readonly createdAt: string
  readonly updatedAt: string
}
/** One segment stands in `segmentKey`, several in `segmentKeys`. */
export type BySegments = {
  readonly segmentKey: string
  readonly segmentKeys: readonly string[]
  readonly segmentOperator: string
}
export type Rule = BySegments & {
  readonly id: string
  readonly rank: number
  readonly distributions: readonly { readonly variantId: string; readonly rollout: number }[]
}
export type Rollout = {
  readonly description: string
  readonly segment?: BySegments & { readonly value: boolean }
  readonly threshold?: { readonly percentage: number; readonly value: boolean }
}
export type Constraint = {
  readonly type: string
  readonly property: string
  readonly operator: string
  readonly value: string
  readonly description: string
}
export type Segment = {
  readonly key: string
  readonly name: string
  readonly description: string
  readonly matchType: string
  readonly constraints: readonly Constraint[]
}

/** One page of a list: the items under the list's name, and where the next begins (`''`: nowhere). */
export type Page<K extends string, T> = Readonly<Record<K, readonly T[]>> & {
  readonly nextPageToken: string
  readonly totalCount: number
}

const PAGE = 1000

/** Every item of a list, page after page; `at` looks at a moment (api.md §4). */
export const all = async <T>({ ask }: Client, path: string, name: string, at?: string): Promise<readonly T[]> => {
  const found: T[] = []
  let pageToken = ''
  do {
    const page = await ask<Page<string, T>>('GET', path, { query: { limit: PAGE, pageToken, at } })
    found.push(...(page[name] ?? []))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return found
}
