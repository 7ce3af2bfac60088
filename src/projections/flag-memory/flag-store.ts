import { type FlagDoc, flags } from '../flags.ts'
import { compareOrder, lastKnown, readable } from '../projection.ts'
import { type NamespaceDoc, namespaces, type SegmentDoc, segments } from '../resource-model.ts'
import type { Row } from '../views.ts'
import {
  alike,
  type Compile,
  compiledIn,
  emptyNamespace,
  evaluableIn,
  foundIn,
  type InNamespace,
  isComplete,
  isOver,
  type Live,
  lifeOf,
  listOf,
  type NamespaceState,
  partsOf,
  tallies,
  versionOf,
  weightOf,
  withoutData,
} from './namespace-state.ts'

const reached = (state: { position: bigint }, { position }: Row): void => {
  if (position > state.position) state.position = position
}

/** The document that counts in the totals of its namespace. */
const counted = <D extends InNamespace>(row: Row<D> | undefined): D | undefined =>
  row && isComplete(row) ? lastKnown(row) : undefined

/** Stores the row unless a later one is stored. Returns true if clients see a change. */
const rowKeeper =
  <C>(tally: ReturnType<typeof tallies>) =>
  <D extends InNamespace>(
    state: NamespaceState<C>,
    view: 'flags' | 'segments',
    rows: Map<string, Row<D>>,
    given: Row<D>,
  ): boolean => {
    const row = isOver(state.namespace, given) ? withoutData(given) : given
    const [, key] = partsOf(row.key)
    const present = rows.get(key)
    if (present && present.revision >= row.revision) return false
    rows.set(key, row)
    reached(state, row)
    if (row.unreadable) state.closed[view].add(key)
    else state.closed[view].delete(key)
    if (alike(present, row)) return false
    tally.step(view, row.key, counted(present), counted(row))
    state.sum = BigInt.asUintN(64, state.sum - weightOf(view, present) + weightOf(view, row))
    return true
  }

/** Removes the data of the documents that ended with their namespace. */
const dropData = <D extends InNamespace>(
  tally: ReturnType<typeof tallies>,
  view: 'flags' | 'segments',
  rows: Map<string, Row<D>>,
  namespace: Row<NamespaceDoc>,
): void => {
  for (const [key, row] of rows) {
    if (!isComplete(row) || !isOver(namespace, row)) continue
    tally.step(view, row.key, row.doc, undefined)
    rows.set(key, withoutData(row))
  }
}

/** Namespaces by key, with their flags and segments. Accepts rows in any order and repeatedly. */
const namespaceStates = <C>() => {
  const states = new Map<string, NamespaceState<C>>()
  const tally = tallies()
  const listeners: ((namespace: string) => void)[] = []
  let names: readonly Live<NamespaceDoc>[] | undefined
  let count = 0

  const stateOf = (key: string): NamespaceState<C> => {
    const state = states.get(key) ?? emptyNamespace<C>()
    states.set(key, state)
    return state
  }
  const changed = (namespace: string): void => {
    for (const listener of listeners) listener(namespace)
  }

  const keep = rowKeeper<C>(tally)

  const takeNamespace = (row: Row) => {
    const state = stateOf(row.key)
    const present = state.namespace
    if (present && present.revision >= row.revision) return
    const before = lifeOf(state)
    state.namespace = row as Row<NamespaceDoc>
    reached(state, row)
    if (alike(present, row)) return
    dropData(tally, 'flags', state.flags, state.namespace)
    dropData(tally, 'segments', state.segments, state.namespace)
    const now = lifeOf(state)
    count += (now === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
    names = undefined
    if (now === before) return
    state.compiled.clear()
    state.askedBy.clear()
    state.listed = {}
    changed(row.key)
  }
  const takeFlag = (row: Row) => {
    const [namespace, key] = partsOf(row.key)
    const state = stateOf(namespace)
    if (!keep(state, 'flags', state.flags, row as Row<FlagDoc>)) return
    state.compiled.delete(key)
    delete state.listed.flags
    changed(namespace)
  }
  const takeSegment = (row: Row) => {
    const [namespace, key] = partsOf(row.key)
    const state = stateOf(namespace)
    if (!keep(state, 'segments', state.segments, row as Row<SegmentDoc>)) return
    for (const flag of state.askedBy.get(key) ?? []) state.compiled.delete(flag)
    state.askedBy.delete(key)
    delete state.listed.segments
    changed(namespace)
  }

  return {
    states,
    tally,
    watch: {
      /** Position of the newest event of a namespace, its flags and segments; 0n if there is none. */
      position: (key: string): bigint => states.get(key)?.position ?? 0n,
      /** Calls the listener with the key of a namespace after each change of its version. */
      subscribe: (listener: (namespace: string) => void): void => void listeners.push(listener),
    },
    take: { [namespaces.name]: takeNamespace, [flags.name]: takeFlag, [segments.name]: takeSegment } as Readonly<
      Record<string, (row: Row) => void>
    >,
    namespace: (key: string): Live<NamespaceDoc> | undefined => {
      const row = states.get(key)?.namespace
      return readable(row)?.doc === undefined ? undefined : (row as Live<NamespaceDoc>)
    },
    closed: (): number => [...states.values()].filter((state) => state.namespace?.unreadable).length,
    names: (): readonly Live<NamespaceDoc>[] =>
      (names ??= [...states.values()]
        .flatMap(({ namespace }) => (namespace?.doc === undefined ? [] : [namespace as Live<NamespaceDoc>]))
        .sort(compareOrder)),
    count: (): number => count,
  }
}

const complete = (row: Row | undefined): Row | undefined => (row && isComplete(row) ? row : undefined)

/** Complete row of a document in memory, by read model. */
const rowsOf: Readonly<Record<string, (state: NamespaceState<unknown> | undefined, key: string) => Row | undefined>> = {
  [namespaces.name]: (state) => state?.namespace,
  [flags.name]: (state, key) => complete(state?.flags.get(key)),
  [segments.name]: (state, key) => complete(state?.segments.get(key)),
}

/**
 * All namespaces, flags and segments in memory. Accepts rows in any order and repeatedly. Documents of another
 * incarnation of their namespace are absent. Lists are in order of creation and omit unreadable documents, which
 * lookups refuse with `event_unreadable`. An unreadable namespace keeps its last known incarnation.
 */
export const flagStore = <C>(compile: Compile<C>) => {
  const { states, tally, watch, take, namespace, names, count, closed } = namespaceStates<C>()

  return {
    /** Stores a row of a view. Rows of other views are ignored. */
    set: (view: string, row: Row): void => take[view]?.(row),
    /** The complete row of a document, by view and key, including tombstones; none of a document without its data. */
    row: (view: string, id: string): Row | undefined => {
      const [namespace, key] = partsOf(id)
      return rowsOf[view]?.(states.get(namespace), key)
    },

    rows: (): readonly (readonly [view: string, row: Row])[] =>
      [...states.values()].flatMap((state) => [
        ...[state.namespace ?? []].flat().map((row) => [namespaces.name, row] as const),
        ...Array.from(state.flags.values(), (row) => [flags.name, row] as const),
        ...Array.from(state.segments.values(), (row) => [segments.name, row] as const),
      ]),

    namespace,
    flag: (namespace: string, key: string): Live<FlagDoc> | undefined => {
      const state = states.get(namespace)
      return foundIn(state, state?.flags.get(key))
    },
    segment: (namespace: string, key: string): Live<SegmentDoc> | undefined => {
      const state = states.get(namespace)
      return foundIn(state, state?.segments.get(key))
    },
    namespaces: names,
    flags: (namespace: string): readonly Live<FlagDoc>[] => {
      const state = states.get(namespace)
      return state ? (state.listed.flags ??= listOf(state, state.flags)) : []
    },
    segments: (namespace: string): readonly Live<SegmentDoc>[] => {
      const state = states.get(namespace)
      return state ? (state.listed.segments ??= listOf(state, state.segments)) : []
    },

    /** Flags of a namespace that can be evaluated. */
    evaluable: (namespace: string): readonly Live<FlagDoc>[] => {
      const state = states.get(namespace)
      return state ? evaluableIn(state, (state.listed.flags ??= listOf(state, state.flags))) : []
    },
    /** Number of unreadable documents, which lists omit. */
    closed: {
      namespaces: closed,
      flags: (namespace: string): number => states.get(namespace)?.closed.flags.size ?? 0,
      segments: (namespace: string): number => states.get(namespace)?.closed.segments.size ?? 0,
    },
    /** The present incarnation of a namespace; of an unreadable one, the last known. */
    life: (namespace: string): string | undefined => lifeOf(states.get(namespace)),

    /** Precomputed totals of the flags and segments of a namespace. */
    tally: (namespace: string) => tally.of(lifeOf(states.get(namespace))),
    /** Precomputed size of a flag or segment as JSON in UTF-8; 0 if there is none. */
    bytes: (kind: 'flags' | 'segments', namespace: string, key: string): number =>
      tally.bytes(kind, `${namespace}+${key}`),
    namespaceCount: count,

    /** All keys that ever existed in a namespace. */
    known: {
      namespaces: (): readonly string[] => [...states.keys()],
      flags: (namespace: string): readonly string[] => [...(states.get(namespace)?.flags.keys() ?? [])],
      segments: (namespace: string): readonly string[] => [...(states.get(namespace)?.segments.keys() ?? [])],
    },

    /** The compiled flag; compiled again after a change of the flag or of a segment that it uses. */
    compiled: (namespace: string, key: string): C | undefined => {
      const state = states.get(namespace)
      return state && compiledIn(state, key, compile)
    },

    /**
     * Version (64 bits) of the flags and segments of a namespace, if it exists: a sum over the revisions that clients
     * see. Equal on instances with the same state, different after each change and for each incarnation.
     */
    version: (key: string): bigint | undefined => versionOf(key, states.get(key)),
    ...watch,
  }
}

export type FlagStore<C> = ReturnType<typeof flagStore<C>>
