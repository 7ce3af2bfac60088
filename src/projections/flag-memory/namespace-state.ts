import { createHash } from 'node:crypto'
import { type FlagDoc, segmentsAsked } from '../flags.ts'
import { compareOrder, lastKnown, readable } from '../projection.ts'
import { type NamespaceDoc, namespaces, type SegmentDoc } from '../resource-model.ts'
import type { Row } from '../views.ts'

/** A row with a document. */
export type Live<D extends object> = Row<D> & { readonly doc: D }
export type InNamespace = { readonly order: string; readonly incarnation: string }

/** Compiles a flag for evaluation; `segment` finds the segments of its namespace. */
export type Compile<C> = (flag: FlagDoc, segment: (key: string) => SegmentDoc | undefined) => C

/**
 * Splits the key of a row of a flag or segment into the keys of its namespace and document. The row of a namespace has
 * no second part.
 */
export const partsOf = (key: string): readonly [namespace: string, key: string] => {
  const [namespace = '', name = ''] = key.split('+')
  return [namespace, name]
}

/** State of one namespace key, whether or not the namespace exists. */
export type NamespaceState<C> = {
  namespace: Row<NamespaceDoc> | undefined
  readonly flags: Map<string, Row<FlagDoc>>
  readonly segments: Map<string, Row<SegmentDoc>>
  readonly compiled: Map<string, C>
  /** Segment key → keys of the compiled flags that use it. */
  readonly askedBy: Map<string, Set<string>>
  /** Keys of unreadable documents. */
  readonly closed: { readonly flags: Set<string>; readonly segments: Set<string> }
  listed: { flags?: readonly Live<FlagDoc>[]; segments?: readonly Live<SegmentDoc>[] }
  sum: bigint
  /** Position of the newest event of the namespace, its flags and segments. */
  position: bigint
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
  position: 0n,
})

/** First 64 bits of the SHA-256 of a state's name. */
const stateName = (view: string, key: string, state: string): bigint =>
  createHash('sha256').update(`${view}|${key}|${state}`).digest().readBigUInt64BE()

/**
 * Summand of a row in the version of its namespace. It changes only with changes that clients see, and when a document
 * becomes unreadable.
 */
export const weightOf = (view: string, row: Row | undefined): bigint => {
  if (row?.unreadable) return stateName(view, row.key, `closed ${row.unreadable.revision}`)
  return row === undefined || row.changes === 0n ? 0n : stateName(view, row.key, String(row.changes))
}

/** True if two rows of a document look the same to clients. */
export const alike = (one: Row | undefined, other: Row): boolean =>
  one?.changes === other.changes && one.unreadable?.revision === other.unreadable?.revision

/** The incarnation of a namespace; of an unreadable one, the last known. The result is undefined if there is none. */
export const lifeOf = <C>(state: NamespaceState<C> | undefined): string | undefined =>
  lastKnown(state?.namespace)?.incarnation

/**
 * True if the document belongs to an incarnation that ended: the row is older than that of its namespace, which has
 * another incarnation or none.
 */
export const isOver = (namespace: Row<NamespaceDoc> | undefined, { doc, position }: Row<InNamespace>): boolean =>
  namespace !== undefined &&
  !namespace.unreadable &&
  doc !== undefined &&
  position < namespace.position &&
  doc.incarnation !== namespace.doc?.incarnation

/** The row without the data of its document: only the incarnation stays, because the row is no tombstone in the views. */
export const withoutData = <D extends InNamespace>(row: Row<D>): Row<D> => ({
  ...row,
  doc: { incarnation: row.doc!.incarnation } as D,
})

/** True if the row is complete, as the views have it. */
export const isComplete = ({ doc }: Row): boolean => doc === undefined || Object.hasOwn(doc, 'order')

/** Like `lifeOf`, but refuses with `event_unreadable` if the incarnation of an unreadable namespace is unknown. */
const knownLife = <C>(state: NamespaceState<C> | undefined): string | undefined => {
  const life = lifeOf(state)
  if (life === undefined) readable(state?.namespace)
  return life
}

/**
 * The version of the flags and segments of a namespace: the sum over its rows and its incarnation; undefined if there
 * is no such namespace.
 */
export const versionOf = <C>(key: string, state: NamespaceState<C> | undefined): bigint | undefined => {
  const incarnation = knownLife(state)
  return incarnation === undefined
    ? undefined
    : BigInt.asUintN(64, state!.sum + stateName(namespaces.name, key, incarnation))
}

/** The row, if its document belongs to the present incarnation of the namespace. */
const liveIn = <C, D extends InNamespace>(
  state: NamespaceState<C> | undefined,
  row: Row<D> | undefined,
): Live<D> | undefined =>
  row?.doc !== undefined && row.doc.incarnation === lifeOf(state) ? (row as Live<D>) : undefined

/**
 * Like `liveIn`, but refuses with `event_unreadable` if the document is unreadable, or the incarnation of its namespace
 * is unknown.
 */
export const foundIn = <C, D extends InNamespace>(
  state: NamespaceState<C> | undefined,
  row: Row<D> | undefined,
): Live<D> | undefined => {
  if (knownLife(state) !== undefined) readable(row)
  return liveIn(state, row)
}

/**
 * The documents of the present incarnation of the namespace, in order of creation. Unreadable documents are left out of
 * lists.
 */
export const listOf = <C, D extends InNamespace>(
  state: NamespaceState<C>,
  rows: ReadonlyMap<string, Row<D>>,
): readonly Live<D>[] =>
  knownLife(state) === undefined ? [] : [...rows.values()].flatMap((row) => liveIn(state, row) ?? []).sort(compareOrder)

/** The compiled flag: compiled at the first lookup, and cached with the segments that it uses. */
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

/** The flags that can be evaluated: those that use no unreadable segment. */
export const evaluableIn = <C>(
  { closed: { segments } }: NamespaceState<C>,
  flags: readonly Live<FlagDoc>[],
): readonly Live<FlagDoc>[] => {
  if (segments.size === 0) return flags
  return flags.filter(({ doc }) => ![...segmentsAsked(doc)].some((key) => segments.has(key)))
}

/** Number of flags and segments of one incarnation of a namespace, and their size as JSON in UTF-8. */
type Tally = { readonly flags: number; readonly segments: number; readonly bytes: number }

type CountedKind = 'flags' | 'segments'
type Doc = { readonly incarnation: string }

const nothing: Tally = { flags: 0, segments: 0, bytes: 0 }

/** Precomputed totals by incarnation, so that reading one is free. */
export const tallies = () => {
  const lives = new Map<string, Tally>()
  const sizes = new Map<string, number>()

  const add = (kind: CountedKind, incarnation: string, count: 1 | -1, bytes: number) => {
    const before = lives.get(incarnation) ?? nothing
    const after = { ...before, [kind]: before[kind] + count, bytes: before.bytes + bytes }
    if (after.flags + after.segments > 0) lives.set(incarnation, after)
    else lives.delete(incarnation)
  }

  return {
    of: (incarnation: string | undefined): Tally => lives.get(incarnation ?? '') ?? nothing,
    /** Size of one document, by kind and key; 0 if there is none. */
    bytes: (kind: CountedKind, key: string): number => sizes.get(`${kind} ${key}`) ?? 0,
    /** Updates the totals by the change of one document from `from` to `to`. */
    step: (kind: CountedKind, key: string, from: Doc | undefined, to: Doc | undefined): void => {
      if (from === to) return
      const name = `${kind} ${key}`
      if (from) add(kind, from.incarnation, -1, -sizes.get(name)!)
      sizes.delete(name)
      if (!to) return
      const bytes = Buffer.byteLength(JSON.stringify(to))
      sizes.set(name, bytes)
      add(kind, to.incarnation, 1, bytes)
    },
  }
}
