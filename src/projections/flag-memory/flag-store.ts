import { type FlagDoc, flags } from '../flags.ts'
import { type NamespaceDoc, namespaces } from '../namespaces.ts'
import { compareOrder, lastKnown, readable } from '../projection.ts'
import { type SegmentDoc, segments } from '../segments.ts'
import type { Row } from '../views.ts'
import {
  alike,
  type Compile,
  compiledIn,
  emptyNamespace,
  evaluableIn,
  foundIn,
  type InNamespace,
  type Live,
  lifeOf,
  listOf,
  type NamespaceState,
  partsOf,
  versionOf,
  weightOf,
} from './namespace-state.ts'
import { type Tally, tallies } from './namespace-tally.ts'

export type { Compile, Live } from './namespace-state.ts'

/** Every namespace by its key, each with its flags and segments, fed with rows in any order and any number of times. */
const namespaceStates = <C>() => {
  const states = new Map<string, NamespaceState<C>>()
  const tally = tallies()
  let names: readonly Live<NamespaceDoc>[] | undefined
  let count = 0

  const stateOf = (key: string): NamespaceState<C> => {
    const state = states.get(key) ?? emptyNamespace<C>()
    states.set(key, state)
    return state
  }

  /** Keeps the row unless a later one is held; true when clients see a change by it. */
  const keep = <D extends InNamespace>(
    state: NamespaceState<C>,
    view: 'flags' | 'segments',
    rows: Map<string, Row<D>>,
    row: Row,
  ): boolean => {
    const [, key] = partsOf(row.key)
    const present = rows.get(key)
    if (present && present.revision >= row.revision) return false
    rows.set(key, row as Row<D>)
    if (row.unreadable) state.closed[view].add(key)
    else state.closed[view].delete(key)
    if (alike(present, row)) return false
    tally.step(view, row.key, lastKnown(present), lastKnown(row as Row<D>))
    state.sum = BigInt.asUintN(64, state.sum - weightOf(view, present) + weightOf(view, row))
    return true
  }

  const takeNamespace = (row: Row) => {
    const state = stateOf(row.key)
    const present = state.namespace
    if (present && present.revision >= row.revision) return
    const before = lifeOf(state)
    state.namespace = row as Row<NamespaceDoc>
    if (alike(present, row)) return
    const now = lifeOf(state)
    count += (now === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
    names = undefined
    if (now === before) return
    state.compiled.clear()
    state.askedBy.clear()
    state.listed = {}
  }
  const takeFlag = (row: Row) => {
    const [namespace, key] = partsOf(row.key)
    const state = stateOf(namespace)
    if (!keep(state, 'flags', state.flags, row)) return
    state.compiled.delete(key)
    delete state.listed.flags
  }
  const takeSegment = (row: Row) => {
    const [namespace, key] = partsOf(row.key)
    const state = stateOf(namespace)
    if (!keep(state, 'segments', state.segments, row)) return
    for (const flag of state.askedBy.get(key) ?? []) state.compiled.delete(flag)
    state.askedBy.delete(key)
    delete state.listed.segments
  }

  return {
    states,
    tally,
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

/** Row of a document in the state of its namespace, by view. */
const rowsOf: Readonly<Record<string, (state: NamespaceState<unknown> | undefined, key: string) => Row | undefined>> = {
  [namespaces.name]: (state) => state?.namespace,
  [flags.name]: (state, key) => state?.flags.get(key),
  [segments.name]: (state, key) => state?.segments.get(key),
}

/**
 * The namespaces, flags and segments that an instance holds whole, fed with rows in any order and any number of times. Documents of
 * another life of their namespace are absent. Lists are in order of creation. A closed document is in no list, and refused with
 * `event_unreadable` where it is asked for; what is in a closed namespace goes on in the last life that is known.
 */
export const flagStore = <C>(compile: Compile<C>) => {
  const { states, tally, take, namespace, names, count, closed } = namespaceStates<C>()

  return {
    /** Takes a row of a view; rows of views that are not held here are passed over. */
    set: (view: string, row: Row): void => take[view]?.(row),
    /** The row held of a document, by view and key, tombstones too. */
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

    /** The flags of a namespace that can be evaluated. */
    evaluable: (namespace: string): readonly Live<FlagDoc>[] => {
      const state = states.get(namespace)
      return state ? evaluableIn(state, (state.listed.flags ??= listOf(state, state.flags))) : []
    },
    /** How many documents of a kind are closed, and so left out of its list. */
    closed: {
      namespaces: closed,
      flags: (namespace: string): number => states.get(namespace)?.closed.flags.size ?? 0,
      segments: (namespace: string): number => states.get(namespace)?.closed.segments.size ?? 0,
    },
    /** The present life of a namespace; of a closed one the last that is known. */
    life: (namespace: string): string | undefined => lifeOf(states.get(namespace)),

    /** What there is of flags and segments in a namespace, counted beforehand. */
    tally: (namespace: string): Tally => tally.of(lifeOf(states.get(namespace))),
    /** The bytes of a flag or segment as JSON in UTF-8, counted beforehand; 0 where there is none. */
    bytes: (kind: 'flags' | 'segments', namespace: string, key: string): number =>
      tally.bytes(kind, `${namespace}+${key}`),
    namespaceCount: count,

    /** Every key there ever was, living or not. */
    known: {
      namespaces: (): readonly string[] => [...states.keys()],
      flags: (namespace: string): readonly string[] => [...(states.get(namespace)?.flags.keys() ?? [])],
      segments: (namespace: string): readonly string[] => [...(states.get(namespace)?.segments.keys() ?? [])],
    },

    /** The compiled flag: made when first asked for, and anew after a change of the flag or of a segment it looked for. */
    compiled: (namespace: string, key: string): C | undefined => {
      const state = states.get(namespace)
      return state && compiledIn(state, key, compile)
    },

    /**
     * Names the state of a namespace's flags and segments, in 64 bits; undefined where there is no such namespace. A sum over the
     * revisions that clients see: equal on all instances that hold the same, new with each change and with each life of the key.
     */
    version: (key: string): bigint | undefined => versionOf(key, states.get(key)),
  }
}

export type FlagStore<C> = ReturnType<typeof flagStore<C>>
