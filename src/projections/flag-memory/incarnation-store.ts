import { type Incarnation, type IncarnationsDoc, lives } from '../history/incarnations.ts'
import { lastKnown } from '../projection.ts'
import type { Row } from '../views.ts'

type Lives = Row<IncarnationsDoc>
/** A key, and its incarnation at a position: undefined if there was none, `unknown` if it is not stored. */
export type Lived = { readonly key: string; readonly life: Incarnation | undefined | 'unknown' }

const lifeAt = (row: Lives, position: number): Lived['life'] => {
  const { lives: all = [], since = 0 } = lastKnown(row) ?? {}
  if (position < since) return 'unknown'
  const life = all.findLast(({ began }) => began <= position)
  return life === undefined || (life.ended ?? Number.POSITIVE_INFINITY) <= position ? undefined : life
}

/** Incarnations of all keys in memory. Rows may arrive in any order and repeatedly. */
export const incarnationStore = () => {
  const views = new Map(lives.map(({ name }) => [name, new Map<string, Map<string, Lives>>()]))
  const namespaceOf = (key: string) => key.split('+', 1)[0]!

  return {
    /** Stores a row of a view. Rows of other views are ignored. */
    set: (view: string, row: Row): void => {
      const namespaces = views.get(view)
      if (!namespaces) return
      const namespace = namespaceOf(row.key)
      const rows = namespaces.get(namespace) ?? new Map<string, Lives>()
      namespaces.set(namespace, rows)
      if ((rows.get(row.key)?.revision ?? -1n) < row.revision) rows.set(row.key, row as Lives)
    },
    /** The stored row of a key. */
    row: (view: string, key: string): Row | undefined => views.get(view)?.get(namespaceOf(key))?.get(key),
    rows: (): readonly (readonly [view: string, row: Row])[] =>
      [...views].flatMap(([view, namespaces]) =>
        [...namespaces.values()].flatMap((rows) => Array.from(rows.values(), (row) => [view, row] as const)),
      ),
    /** Keys of a view, optionally of one namespace, each with its incarnation at a position. */
    at: function* ({ name }: { readonly name: string }, position: bigint, namespace?: string): Generator<Lived> {
      const namespaces = views.get(name)!
      const found = namespace === undefined ? namespaces.values() : [namespaces.get(namespace) ?? new Map()]
      for (const rows of found as Iterable<ReadonlyMap<string, Lives>>)
        for (const [key, row] of rows) yield { key, life: lifeAt(row, Number(position)) }
    },
  }
}

export type LivesStore = ReturnType<typeof incarnationStore>
