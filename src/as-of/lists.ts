import { timeSlicer } from '../event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { Live } from '../projections/flag-memory/flag-store.ts'
import type { Lived, LivesStore } from '../projections/flag-memory/incarnation-store.ts'
import type { QuarantinedDocuments } from '../projections/flag-memory/quarantined-documents.ts'
import { flags } from '../projections/flags.ts'
import { flagIncarnations, namespaceIncarnations, segmentIncarnations } from '../projections/history/incarnations.ts'
import { namespaces } from '../projections/namespaces.ts'
import { compareOrder, type Projection } from '../projections/projection.ts'
import { segments } from '../projections/segments.ts'
import type { Row } from '../projections/views.ts'
import { viewBehind, WAIT_MS } from './view-behind.ts'

/** Reads documents as they stood at the moment, in the order asked for. */
export type ReadAsOf = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  ids: readonly string[],
) => Promise<readonly (Row<D> | undefined)[]>

export type ListSources = {
  /** When all that is in lists was there. */
  readonly lives: Pick<LivesStore, 'at'>
  /** What cannot be read now, and since when. */
  readonly closed: Pick<QuarantinedDocuments, 'all'>
  /** The row of a document as it is held in memory now. */
  readonly present: (view: string, id: string) => Row | undefined
  /** True once memory holds every event up to the position, false when that takes longer than the milliseconds given. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
}

type AtMoment = ListSources & {
  readonly position: bigint
  readonly signal: AbortSignal
  readonly read: ReadAsOf
  /** Reads the first so many of them, one at least. */
  readonly readFirst: ReadAsOf
  /** The life of a namespace, as far as it is known; undefined where there is none. */
  readonly lifeOf: (namespace: string) => Promise<string | undefined>
}

/** What stands at a place of a list, by its key, before it is read. */
type Listed = { readonly key: string; readonly doc: { readonly order: string } }

type InList = { readonly order: string; readonly incarnation: string }

/** Reads the documents of lists of a moment. */
const documentReaders = ({ readFirst, present, position }: Pick<AtMoment, 'readFirst' | 'present' | 'position'>) => {
  const load =
    <D extends object, E extends AnyEvent>(model: Projection<D, E>) =>
    async (items: readonly Listed[]): Promise<readonly (Live<D> | undefined)[]> => {
      const rows = await readFirst(
        model,
        items.map(({ key }) => key),
      )
      return rows.map((row) => (row?.doc && !row.unreadable ? (row as Live<D>) : undefined))
    }

  /** The same to search and sort by: what has not changed since is as it is in memory, and is not read. */
  const peek = <D extends object, E extends AnyEvent>(model: Projection<D, E>) => {
    const unchanged = ({ key }: Listed): Live<D> | undefined => {
      const row = present(model.name, key)
      return row?.doc && !row.unreadable && row.position <= position ? (row as Live<D>) : undefined
    }
    return async (items: readonly Listed[]): Promise<readonly (Live<D> | undefined)[]> => {
      const rows = items.map(unchanged)
      const changed = items.filter((_, n) => !rows[n])
      const then = changed.length === 0 ? [] : await load(model)(changed)
      const beyond = changed[then.length]
      const known = beyond === undefined ? items : items.slice(0, items.indexOf(beyond))
      const read = then.values()
      return known.map((_, n) => rows[n] ?? read.next().value)
    }
  }
  return { load, peek }
}

/** The lists of a moment, in order of creation, known without folding what is in them. What cannot be read is left out and counted. */
export const listsAsOf = (moment: AtMoment) => {
  const { lives, closed, seen, position, signal, read, lifeOf } = moment
  const { load, peek } = documentReaders(moment)
  let left = 0

  /** The keys of a category that were closed at the moment. */
  const closedOf = (category: string): ReadonlySet<string> =>
    new Set(
      closed
        .all(category)
        .filter(([, by]) => by.position === '' || BigInt(by.position) <= position)
        .map(([key]) => key),
    )

  const list = async <D extends InList, E extends AnyEvent>(
    model: Projection<D, E>,
    keys: Iterable<Lived>,
    isOf: (doc: InList) => boolean,
  ): Promise<readonly Listed[]> => {
    const unreadable = closedOf(model.category)
    const pause = timeSlicer()
    const found: Listed[] = []
    const unknown: string[] = []
    for (const { key, life } of keys) {
      if (unreadable.has(key)) left++
      else if (life === 'unknown') unknown.push(key)
      else if (life && isOf(life)) found.push({ key, doc: life })
      await pause()
      signal.throwIfAborted()
    }
    for (const row of await read(model, unknown))
      if (row?.doc && isOf(row.doc)) found.push({ key: row.key, doc: row.doc })
    return found.sort(compareOrder)
  }

  const isKnown = async (): Promise<void> => void ((await seen(position, WAIT_MS)) || viewBehind(position))
  const listIn = async <D extends InList, E extends AnyEvent>(
    model: Projection<D, E>,
    lived: { readonly name: string },
    namespace: string,
  ): Promise<readonly Listed[]> => {
    await isKnown()
    const life = await lifeOf(namespace)
    const keys = lives.at(lived, position, namespace)
    if (life !== undefined) return list(model, keys, ({ incarnation }) => incarnation === life)
    // Which of them were there only a namespace says that cannot be read.
    if (closedOf(namespaces.category).has(namespace)) for (const each of keys) if (each.life) left++
    return []
  }

  return {
    namespaces: async (): Promise<readonly Listed[]> => {
      await isKnown()
      return list(namespaces, lives.at(namespaceIncarnations, position), () => true)
    },
    flags: (namespace: string) => listIn(flags, flagIncarnations, namespace),
    segments: (namespace: string) => listIn(segments, segmentIncarnations, namespace),
    /** The first so many documents of a part of a list, in its order: one at least. */
    load: { namespaces: load(namespaces), flags: load(flags), segments: load(segments) },
    /** The same, to search and sort by alone. */
    peek: { namespaces: peek(namespaces), flags: peek(flags), segments: peek(segments) },
    /** How many documents the lists asked for here have left out. */
    closed: { namespaces: () => left, flags: () => left, segments: () => left },
  }
}
