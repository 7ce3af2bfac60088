import { forEachSliced } from '../base/event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { Live } from '../projections/flag-memory/namespace-state.ts'
import type { QuarantinedDocuments } from '../projections/flag-memory/quarantined-documents.ts'
import { flags } from '../projections/flags.ts'
import type { Lived, LivesStore } from '../projections/history/incarnations.ts'
import { flagIncarnations, namespaceIncarnations, segmentIncarnations } from '../projections/history/incarnations.ts'
import { compareOrder, type Projection } from '../projections/projection.ts'
import { namespaces, segments } from '../projections/resource-model.ts'
import type { Row } from '../projections/views.ts'
import { viewBehind, WAIT_MS } from './reads.ts'

/** Reads documents as of the moment, in the requested order. */
export type ReadAsOf = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  ids: readonly string[],
) => Promise<readonly (Row<D> | undefined)[]>

export type ListSources = {
  /** Periods in which each document of a list existed. */
  readonly lives: Pick<LivesStore, 'at'>
  /** Documents that are unreadable now, with the event that caused it. */
  readonly closed: Pick<QuarantinedDocuments, 'all'>
  /** The present row of a document in memory. */
  readonly present: (view: string, id: string) => Row | undefined
  /** Resolves to true once memory contains every event up to the position, to false after `withinMs` milliseconds. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
}

type AtMoment = ListSources & {
  readonly position: bigint
  readonly signal: AbortSignal
  readonly read: ReadAsOf
  /** Reads the first of the documents: at least one, and as many as fit into one read. */
  readonly readFirst: ReadAsOf
  /** The incarnation of a namespace, if known; undefined if there is none. */
  readonly lifeOf: (namespace: string) => Promise<string | undefined>
}

/** List entry of a document that is not read yet. */
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

  /** Like `load`, for search and sorting only: documents that have not changed since the moment come from memory. */
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

/**
 * The lists as of a moment, in order of creation, without reading the streams of their documents. Unreadable documents
 * are left out and counted.
 */
export const listsAsOf = (moment: AtMoment) => {
  const { lives, closed, seen, position, signal, read, lifeOf } = moment
  const { load, peek } = documentReaders(moment)
  let left = 0

  /** Keys of a category that were unreadable at the moment. */
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
    const found: Listed[] = []
    const unknown: string[] = []
    await forEachSliced(keys, ({ key, life }) => {
      signal.throwIfAborted()
      if (unreadable.has(key)) left++
      else if (life === 'unknown') unknown.push(key)
      else if (life && isOf(life)) found.push({ key, doc: life })
    })
    signal.throwIfAborted()
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
    // The unreadable namespace alone could decide the existence of these keys.
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
    /** Reads the first of the given list entries, in order: at least one, and as many as fit into one read. */
    load: { namespaces: load(namespaces), flags: load(flags), segments: load(segments) },
    /** Reads the first of the given list entries, for search and sorting only. */
    peek: { namespaces: peek(namespaces), flags: peek(flags), segments: peek(segments) },
    /** Number of documents that these lists have left out. */
    closed: { namespaces: () => left, flags: () => left, segments: () => left },
  }
}
