import type { AnyEvent, DataOf } from '../../events/define.ts'
import { flags } from '../flags.ts'
import { anyProjection, lastKnown, orderOf, type Projection } from '../projection.ts'
import { namespaces, segments } from '../resource-model.ts'
import type { Row } from '../views.ts'

/**
 * One incarnation of the key of a document. `began` and `ended`: positions of its first and last event; `order`: sort
 * key in lists; `incarnation`: that of its namespace.
 */
type Incarnation = {
  readonly order: string
  readonly incarnation: string
  readonly began: number
  readonly ended?: number
}
/** Incarnations of a key, oldest first. `since`: incarnations that began before this position are not stored. */
type IncarnationsDoc = { readonly lives: readonly Incarnation[]; readonly since?: number }

/** Maximum stored incarnations per key, so that repeated creation and deletion has a bounded cost. */
const KEPT = 32

const begun = (doc: IncarnationsDoc | undefined, life: Incarnation): IncarnationsDoc => {
  const all = [...(doc?.lives ?? []), life]
  return all.length <= KEPT ? { ...doc, lives: all } : { lives: all.slice(1), since: all[1]!.began }
}

const ended = (doc: IncarnationsDoc | undefined, position: number): IncarnationsDoc | undefined => {
  const last = doc?.lives.at(-1)
  return last && { ...doc, lives: [...doc!.lives.slice(0, -1), { ...last, ended: position }] }
}

type Begin = { readonly incarnation: string }

/**
 * Read model of the incarnations of the keys of another read model, from two of its events. All other events change
 * nothing in this read model.
 */
const incarnationsOf = <D extends object, E extends AnyEvent>(
  { name, category, read, on }: Projection<D, E>,
  begins: E['type'],
  ends: E['type'],
): Projection<IncarnationsDoc, E> => {
  const quiet = (Object.keys(on) as E['type'][]).filter((type) => type !== begins && type !== ends)
  const same = (doc: IncarnationsDoc | undefined) => doc
  return {
    name: `${name}_lives`,
    version: 2,
    fields: [],
    indexes: [],
    category,
    read,
    quiet: new Set(quiet),
    on: {
      ...Object.fromEntries(quiet.map((type) => [type, same])),
      [begins]: (doc: IncarnationsDoc | undefined, data: DataOf<E, E['type']>, at: Parameters<typeof orderOf>[0]) => {
        const { incarnation } = data as unknown as Begin
        return begun(doc, { order: orderOf(at), incarnation, began: Number(at.position) })
      },
      [ends]: (doc: IncarnationsDoc | undefined, _: unknown, { position }: { readonly position: bigint }) =>
        ended(doc, Number(position)),
    } as unknown as Projection<IncarnationsDoc, E>['on'],
  }
}

export const namespaceIncarnations = incarnationsOf(namespaces, 'NamespaceCreated', 'NamespaceDeleted')
export const flagIncarnations = incarnationsOf(flags, 'FlagCreated', 'FlagDeleted')
export const segmentIncarnations = incarnationsOf(segments, 'SegmentCreated', 'SegmentDeleted')

/** Read models of the incarnations of all keys in lists. */
export const lives = [
  anyProjection(namespaceIncarnations),
  anyProjection(flagIncarnations),
  anyProjection(segmentIncarnations),
]

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
