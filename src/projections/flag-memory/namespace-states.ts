import { flags } from '../flags.ts'
import { type NamespaceDoc, namespaces } from '../namespaces.ts'
import { compareOrder, lastKnown, readable } from '../projection.ts'
import { segments } from '../segments.ts'
import type { Row } from '../views.ts'
import {
  alike,
  emptyNamespace,
  type InNamespace,
  type Live,
  lifeOf,
  type NamespaceState,
  partsOf,
  tallies,
  weightOf,
} from './namespace-state.ts'

const reached = (state: { position: bigint }, { position }: Row): void => {
  if (position > state.position) state.position = position
}

/** Stores the row unless a later one is stored. Returns true if clients see a change. */
const rowKeeper =
  <C>(tally: ReturnType<typeof tallies>) =>
  <D extends InNamespace>(
    state: NamespaceState<C>,
    view: 'flags' | 'segments',
    rows: Map<string, Row<D>>,
    row: Row,
  ): boolean => {
    const [, key] = partsOf(row.key)
    const present = rows.get(key)
    if (present && present.revision >= row.revision) return false
    rows.set(key, row as Row<D>)
    reached(state, row)
    if (row.unreadable) state.closed[view].add(key)
    else state.closed[view].delete(key)
    if (alike(present, row)) return false
    tally.step(view, row.key, lastKnown(present), lastKnown(row as Row<D>))
    state.sum = BigInt.asUintN(64, state.sum - weightOf(view, present) + weightOf(view, row))
    return true
  }

/** Namespaces by key, with their flags and segments. Accepts rows in any order and repeatedly. */
export const namespaceStates = <C>() => {
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
    if (!keep(state, 'flags', state.flags, row)) return
    state.compiled.delete(key)
    delete state.listed.flags
    changed(namespace)
  }
  const takeSegment = (row: Row) => {
    const [namespace, key] = partsOf(row.key)
    const state = stateOf(namespace)
    if (!keep(state, 'segments', state.segments, row)) return
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
