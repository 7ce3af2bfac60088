import { createHash } from 'node:crypto'
import { type FlagDoc, segmentsAsked } from '../flags.ts'
import { type NamespaceDoc, namespaces } from '../namespaces.ts'
import { compareOrder, lastKnown, readable } from '../projection.ts'
import type { SegmentDoc } from '../segments.ts'
import type { Row } from '../views.ts'

/** A row that has a document. */
export type Live<D extends object> = Row<D> & { readonly doc: D }
export type InNamespace = { readonly order: string; readonly incarnation: string }

/** The flag in the form it is evaluated in; `segment` finds the segments of its namespace. */
export type Compile<C> = (flag: FlagDoc, segment: (key: string) => SegmentDoc | undefined) => C

/** The namespace of a flag's or segment's row, and its key there; of a namespace's row, its key. */
export const partsOf = (key: string): readonly [namespace: string, key: string] => {
  const [namespace = '', name = ''] = key.split('+')
  return [namespace, name]
}

/** All that is held of one namespace key, whether or not it lives. */
export type NamespaceState<C> = {
  namespace: Row<NamespaceDoc> | undefined
  readonly flags: Map<string, Row<FlagDoc>>
  readonly segments: Map<string, Row<SegmentDoc>>
  readonly compiled: Map<string, C>
  /** Segment key → keys of the compiled flags that asked for it. */
  readonly askedBy: Map<string, Set<string>>
  /** Keys of documents that are closed by an event that cannot be read. */
  readonly closed: { readonly flags: Set<string>; readonly segments: Set<string> }
  listed: { flags?: readonly Live<FlagDoc>[]; segments?: readonly Live<SegmentDoc>[] }
  sum: bigint
}

export const emptyNamespace = <C>(): NamespaceState<C> => ({
  namespace: undefined,
  flags: new Map(),
  segments: new Map(),
  compiled: new Map(),
  askedBy: new Map(),
  closed: { flags: new Set(), segments: new Set() },
  listed: {},
  sum: 0n,
})

/** The first 64 bits of the digest of what names a state. */
const stateName = (view: string, key: string, state: string): bigint =>
  createHash('sha256').update(`${view}|${key}|${state}`).digest().readBigUInt64BE()

/** What a row adds to its namespace's version: the name of its state. Only changes that clients see name a new one, and so does what closes a document. */
export const weightOf = (view: string, row: Row | undefined): bigint => {
  if (row?.unreadable) return stateName(view, row.key, `closed ${row.unreadable.revision}`)
  return row === undefined || row.changes === 0n ? 0n : stateName(view, row.key, String(row.changes))
}

/** Whether two rows of a document show clients the same. */
export const alike = (one: Row | undefined, other: Row): boolean =>
  one?.changes === other.changes && one.unreadable?.revision === other.unreadable?.revision

/** Which life of its key a namespace is in, as far as it is known: of a closed one, the last that could be read. Undefined where there is none. */
export const lifeOf = <C>(state: NamespaceState<C> | undefined): string | undefined =>
  lastKnown(state?.namespace)?.incarnation

/** The same where it must be known: refuses with `event_unreadable` where only a closed namespace could say. */
const knownLife = <C>(state: NamespaceState<C> | undefined): string | undefined => {
  const life = lifeOf(state)
  if (life === undefined) readable(state?.namespace)
  return life
}

/** The version of a namespace's flags and segments: the sum over its rows and its life; undefined where there is no such namespace. */
export const versionOf = <C>(key: string, state: NamespaceState<C> | undefined): bigint | undefined => {
  const incarnation = knownLife(state)
  return incarnation === undefined
    ? undefined
    : BigInt.asUintN(64, state!.sum + stateName(namespaces.name, key, incarnation))
}

/** The row, when its document is one of the namespace's present life. */
const liveIn = <C, D extends InNamespace>(
  state: NamespaceState<C> | undefined,
  row: Row<D> | undefined,
): Live<D> | undefined =>
  row?.doc !== undefined && row.doc.incarnation === lifeOf(state) ? (row as Live<D>) : undefined

/** The same where one document is asked for: refuses with `event_unreadable` where it is closed, or nobody knows in which life its namespace is. */
export const foundIn = <C, D extends InNamespace>(
  state: NamespaceState<C> | undefined,
  row: Row<D> | undefined,
): Live<D> | undefined => {
  if (knownLife(state) !== undefined) readable(row)
  return liveIn(state, row)
}

/** The documents of the namespace's present life, in order of creation. Closed ones are left out. */
export const listOf = <C, D extends InNamespace>(
  state: NamespaceState<C>,
  rows: ReadonlyMap<string, Row<D>>,
): readonly Live<D>[] =>
  knownLife(state) === undefined ? [] : [...rows.values()].flatMap((row) => liveIn(state, row) ?? []).sort(compareOrder)

/** The compiled flag: made when first asked for, and remembered with the segments that it looked for. */
export const compiledIn = <C>(state: NamespaceState<C>, key: string, compile: Compile<C>): C | undefined => {
  const ready = state.compiled.get(key)
  if (ready !== undefined) return ready
  const row = foundIn(state, state.flags.get(key))
  if (!row) return undefined
  const made = compile(row.doc, (asked) => {
    const flags = state.askedBy.get(asked)
    if (flags) flags.add(key)
    else state.askedBy.set(asked, new Set([key]))
    return foundIn(state, state.segments.get(asked))?.doc
  })
  state.compiled.set(key, made)
  return made
}

/** Of flags, those that can be evaluated: they ask no closed segment. */
export const evaluableIn = <C>(
  { closed: { segments } }: NamespaceState<C>,
  flags: readonly Live<FlagDoc>[],
): readonly Live<FlagDoc>[] => {
  if (segments.size === 0) return flags
  return flags.filter(({ doc }) => ![...segmentsAsked(doc)].some((key) => segments.has(key)))
}
