import { createHash } from 'node:crypto'
import { type FlagDoc, flags } from './flags.ts'
import { type NamespaceDoc, namespaces } from './namespaces.ts'
import { type SegmentDoc, segments } from './segments.ts'
import { tallies, type Tally } from './namespace-tally.ts'
import type { Row } from './views.ts'

/** A row that has a document. */
export type Live<D extends object> = Row<D> & { readonly doc: D }
type Listed = { readonly place: string }
type InNamespace = Listed & { readonly incarnation: string }

/** The flag in the form it is evaluated in; `segment` finds the segments of its namespace. */
export type Compile<C> = (flag: FlagDoc, segment: (key: string) => SegmentDoc | undefined) => C

/** All that is held of one namespace key, whether or not it lives. */
type NamespaceState<C> = {
  namespace: Row<NamespaceDoc> | undefined
  readonly flags: Map<string, Row<FlagDoc>>
  readonly segments: Map<string, Row<SegmentDoc>>
  readonly compiled: Map<string, C>
  /** Segment key → keys of the compiled flags that asked for it. */
  readonly askedBy: Map<string, Set<string>>
  listed: { flags?: readonly Live<FlagDoc>[]; segments?: readonly Live<SegmentDoc>[] }
  sum: bigint
}

/** What a row adds to its namespace's version: the name of its state. Only changes that clients see name a new one. */
const stateOf = (view: string, key: string, state: string): bigint =>
  createHash('sha256').update(`${view}|${key}|${state}`).digest().readBigUInt64BE()

const weight = (view: string, row: Row | undefined): bigint =>
  row === undefined || row.changes === 0n ? 0n : stateOf(view, row.key, String(row.changes))

const living = <D extends object>(row: Row<D> | undefined): Live<D> | undefined =>
  row?.doc === undefined ? undefined : { ...row, doc: row.doc }

const byPlace = (a: { readonly doc: Listed }, b: { readonly doc: Listed }) => (a.doc.place < b.doc.place ? -1 : 1)

/**
 * The namespaces, flags and segments that an instance holds whole, fed with rows in any order and any number of times. Documents of
 * another life of their namespace are absent. Lists are in order of creation.
 */
export const flagStore = <C>(compile: Compile<C>) => {
  const shelves = new Map<string, NamespaceState<C>>()
  const tally = tallies()
  let names: readonly Live<NamespaceDoc>[] | undefined
  let namespaceCount = 0

  const shelfOf = (key: string): NamespaceState<C> => {
    const shelf = shelves.get(key)
    if (shelf) return shelf
    const empty = { flags: new Map(), segments: new Map(), compiled: new Map(), askedBy: new Map() }
    const made: NamespaceState<C> = { namespace: undefined, ...empty, listed: {}, sum: 0n }
    shelves.set(key, made)
    return made
  }

  const ofLife = <D extends InNamespace>(
    shelf: NamespaceState<C> | undefined,
    row: Row<D> | undefined,
  ): Live<D> | undefined =>
    row?.doc !== undefined && row.doc.incarnation === shelf?.namespace?.doc?.incarnation ? (row as Live<D>) : undefined

  const list = <D extends InNamespace>(
    shelf: NamespaceState<C>,
    rows: ReadonlyMap<string, Row<D>>,
  ): readonly Live<D>[] => [...rows.values()].flatMap((row) => ofLife(shelf, row) ?? []).sort(byPlace)

  const forget = (shelf: NamespaceState<C>) => {
    shelf.compiled.clear()
    shelf.askedBy.clear()
    shelf.listed = {}
  }

  /** Keeps the row unless a later one is held; true when it was kept. */
  const kept = <D extends InNamespace>(
    shelf: NamespaceState<C>,
    view: 'flags' | 'segments',
    rows: Map<string, Row<D>>,
    row: Row,
  ): boolean => {
    const key = row.key.slice(row.key.indexOf('+') + 1)
    const present = rows.get(key)
    if (present && present.revision >= row.revision) return false
    rows.set(key, row as Row<D>)
    tally.step(view, row.key, present?.doc, (row as Row<D>).doc)
    shelf.sum = BigInt.asUintN(64, shelf.sum - weight(view, present) + weight(view, row))
    return true
  }

  const take: Readonly<Record<string, (row: Row) => void>> = {
    [namespaces.name]: (row) => {
      const shelf = shelfOf(row.key)
      if (shelf.namespace && shelf.namespace.revision >= row.revision) return
      const before = shelf.namespace?.doc?.incarnation
      namespaceCount += (row.doc === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
      shelf.namespace = row as Row<NamespaceDoc>
      names = undefined
      if (shelf.namespace.doc?.incarnation !== before) forget(shelf)
    },
    [flags.name]: (row) => {
      const [namespace = '', key = ''] = row.key.split('+')
      const shelf = shelfOf(namespace)
      if (!kept(shelf, 'flags', shelf.flags, row)) return
      shelf.compiled.delete(key)
      delete shelf.listed.flags
    },
    [segments.name]: (row) => {
      const [namespace = '', key = ''] = row.key.split('+')
      const shelf = shelfOf(namespace)
      if (!kept(shelf, 'segments', shelf.segments, row)) return
      for (const flag of shelf.askedBy.get(key) ?? []) shelf.compiled.delete(flag)
      shelf.askedBy.delete(key)
      delete shelf.listed.segments
    },
  }

  const namespace = (key: string) => living(shelves.get(key)?.namespace)
  const flag = (namespace: string, key: string) => {
    const shelf = shelves.get(namespace)
    return ofLife(shelf, shelf?.flags.get(key))
  }
  const segment = (namespace: string, key: string) => {
    const shelf = shelves.get(namespace)
    return ofLife(shelf, shelf?.segments.get(key))
  }

  return {
    /** Takes a row of a view; rows of views that the catalog does not hold are passed over. */
    set: (view: string, row: Row): void => take[view]?.(row),
    /** The row held of a document, by view and key, tombstones too. */
    row: (view: string, key: string): Row | undefined => {
      const [namespace = '', name = ''] = key.split('+')
      const shelf = shelves.get(namespace)
      if (view === namespaces.name) return shelf?.namespace
      return view === flags.name
        ? shelf?.flags.get(name)
        : view === segments.name
          ? shelf?.segments.get(name)
          : undefined
    },

    namespace,
    flag,
    segment,
    namespaces: (): readonly Live<NamespaceDoc>[] =>
      (names ??= [...shelves.values()].flatMap((shelf) => living(shelf.namespace) ?? []).sort(byPlace)),
    flags: (namespace: string): readonly Live<FlagDoc>[] => {
      const shelf = shelves.get(namespace)
      return shelf ? (shelf.listed.flags ??= list(shelf, shelf.flags)) : []
    },
    segments: (namespace: string): readonly Live<SegmentDoc>[] => {
      const shelf = shelves.get(namespace)
      return shelf ? (shelf.listed.segments ??= list(shelf, shelf.segments)) : []
    },

    /** What there is of flags and segments in a namespace, counted beforehand. */
    tally: (namespace: string): Tally => tally.of(shelves.get(namespace)?.namespace?.doc?.incarnation),
    namespaceCount: (): number => namespaceCount,

    /** Every key there ever was, living or not. */
    known: {
      namespaces: (): readonly string[] => [...shelves.keys()],
      flags: (namespace: string): readonly string[] => [...(shelves.get(namespace)?.flags.keys() ?? [])],
      segments: (namespace: string): readonly string[] => [...(shelves.get(namespace)?.segments.keys() ?? [])],
    },

    /** The compiled flag: made when first asked for, and anew after a change of the flag or of a segment it looked for. */
    compiled: (namespace: string, key: string): C | undefined => {
      const shelf = shelves.get(namespace)
      const ready = shelf?.compiled.get(key)
      if (ready !== undefined || !shelf) return ready
      const row = flag(namespace, key)
      if (!row) return undefined
      const made = compile(row.doc, (asked) => {
        const flags = shelf.askedBy.get(asked)
        if (flags) flags.add(key)
        else shelf.askedBy.set(asked, new Set([key]))
        return segment(namespace, asked)?.doc
      })
      shelf.compiled.set(key, made)
      return made
    },

    /**
     * Names the state of a namespace's flags and segments, in 64 bits; undefined where there is no such namespace. A sum over the
     * revisions that clients see: equal on all instances that hold the same, new with each change and with each life of the key.
     */
    version: (key: string): bigint | undefined => {
      const shelf = shelves.get(key)
      const incarnation = shelf?.namespace?.doc?.incarnation
      return incarnation === undefined
        ? undefined
        : BigInt.asUintN(64, shelf!.sum + stateOf(namespaces.name, key, incarnation))
    },
  }
}

export type FlagStore<C> = ReturnType<typeof flagStore<C>>
