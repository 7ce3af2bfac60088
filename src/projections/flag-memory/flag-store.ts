import { type FlagDoc, flags } from '../flags.ts'
import { namespaces } from '../namespaces.ts'
import { type SegmentDoc, segments } from '../segments.ts'
import type { Row } from '../views.ts'
import {
  type Compile,
  compiledIn,
  evaluableIn,
  foundIn,
  type Live,
  lifeOf,
  listOf,
  type NamespaceState,
  partsOf,
  versionOf,
} from './namespace-state.ts'
import { namespaceStates } from './namespace-states.ts'

export type { Compile, Live } from './namespace-state.ts'

/** Row of a document in memory, by read model. */
const rowsOf: Readonly<Record<string, (state: NamespaceState<unknown> | undefined, key: string) => Row | undefined>> = {
  [namespaces.name]: (state) => state?.namespace,
  [flags.name]: (state, key) => state?.flags.get(key),
  [segments.name]: (state, key) => state?.segments.get(key),
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
    /** The stored row of a document, by view and key, including tombstones. */
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
