import type { Unreadable } from '../events/unreadable.ts'

/**
 * Index over documents that have the first of the fields `by`, restricted by `lacking` or `having`; sorted by the
 * fields in turn, then by key. The fields `also` can be read without the document.
 */
export type Index = {
  readonly by: readonly string[]
  readonly lacking?: string
  readonly having?: string
  readonly also?: readonly string[]
}

/**
 * A read model in the store: name, version, searchable top-level fields (text, number or absent), and indexes. A view
 * with a new version is rebuilt. A query uses the first suitable index, so the most selective ones come first.
 */
export type View = {
  readonly name: string
  readonly version: number
  readonly fields: readonly string[]
  readonly indexes: readonly Index[]
}

/**
 * An unreadable document: the event that made it unreadable, and the last known document. `clue`: lookup field of the
 * document, if nothing else is known.
 */
export type Closed<D extends object = object> = Unreadable & { readonly before?: D; readonly clue?: string }

/** One document. Events that change nothing may be skipped. */
export type Row<D extends object = object> = {
  readonly key: string
  /** Revision and position of the last applied event. */
  readonly revision: bigint
  readonly position: bigint
  /** Revision that clients see: the number of events that changed the document or made it unreadable. */
  readonly changes: bigint
  /** The document is undefined in a tombstone, which prevents older events from restoring it. */
  readonly doc: D | undefined
  /** Set if this version cannot read an event of the stream. The state after it is unknown, and lists omit the row. */
  readonly unreadable?: Closed<D>
}

export type Scalar = string | number
/**
 * Condition on a field: it equals one of the values (undefined = absent), begins with `prefix`, or is in [from, below).
 * An absent field is in no range unless `orAbsent`.
 */
export type Match =
  | { readonly equals: readonly (Scalar | undefined)[] }
  | { readonly prefix: string }
  | { readonly from?: Scalar; readonly below?: Scalar; readonly orAbsent?: boolean }

/** Sort order by key only. */
export const KEY = '_key'

/**
 * A row must meet all conditions. Rows are sorted by `order`, then by key, both ascending or both descending, and start
 * after `after`. Tombstones, unreadable rows and documents without the `order` field are omitted; with order `KEY` they
 * are included unless a condition excludes them. `total` counts all pages up to `count`, and is not computed without
 * it.
 */
export type Query = {
  readonly where: Readonly<Record<string, Match | readonly Match[]>>
  readonly order: string
  readonly descending?: boolean
  readonly after?: { readonly value: Scalar; readonly key: string }
  readonly limit: number
  readonly count?: number
}

/**
 * Restricts a scan to searchable fields of the documents that lack a field. Rows without a document are returned
 * unchanged.
 */
export type ViewPart = { readonly lacking: string; readonly fields: readonly string[] }

/**
 * For each of the first `texts`, returns the document that has the text in the field `by`. Among several, it has the
 * least value of the field `order` that is not below `from`; undefined if there is none. This is cheaper than one query
 * for each text. The result ends early, after at least one document, if it becomes large.
 */
export type FindLeast = <D extends object>(
  view: View,
  texts: readonly string[],
  least: { readonly by: string; readonly order: string; readonly from: Scalar },
) => Promise<readonly (D | undefined)[]>

/** Progress of a view, and the identity of its log, which is verified before the view continues. */
export type Checkpoint = {
  /** The view contains every event up to this position. */
  readonly position: bigint
  /** Id of the event at the position; `''` before the first. */
  readonly event: string
  /** Id of the first event of the log, which identifies the log; `''` before the first event. */
  readonly log: string
  /** Number of events of the log up to the position. */
  readonly events: number
  /** Number of documents created up to the position. The view has at least this many rows. */
  readonly rows: number
  /** Number of events up to the position that changed a document. The sum of `changes` of all rows is at least this. */
  readonly changes: number
}

/** Number of rows of a view, and the sum of their `changes`. */
export type Totals = Pick<Checkpoint, 'rows' | 'changes'>

/**
 * True if rows are missing, or older than the checkpoint: a view that contains every event up to the checkpoint never
 * has such totals.
 */
export const fallShort = (found: Totals, checkpoint: Totals): boolean =>
  found.rows < checkpoint.rows || found.changes < checkpoint.changes

/** True if a row replaces the stored one. */
export const supersedes = (row: Row, there: Row): boolean =>
  row.revision > there.revision ||
  (row.revision === there.revision && row.unreadable === undefined && there.unreadable !== undefined)

/**
 * A rebuild of a read model next to the live one. An unfinished rebuild, also after a crash, is continued by the next
 * one.
 */
export type Building = {
  /** Progress of the unfinished rebuild; undefined for a new one. Rows of later events may exist too. */
  readonly checkpoint: Checkpoint | undefined
  /** Existing rows of these keys in undefined order, including those of the last `put`. */
  readonly getMany: <D extends object>(keys: readonly string[]) => Promise<readonly Row<D>[]>
  /** Writes each row unless the stored one is later. */
  readonly put: (rows: readonly Row[]) => Promise<void>
  /** Stores the progress. The checkpoint becomes durable only after the rows that were put before. */
  readonly mark: (checkpoint: Checkpoint) => Promise<void>
  /** Replaces the rows and the checkpoint of the view atomically. */
  readonly swap: (checkpoint: Checkpoint) => Promise<void>
  /** Stops, and keeps the rows for the next rebuild. */
  readonly leave: () => Promise<void>
  readonly discard: () => Promise<void>
}

/** Stored answers and other small records that are changed by compare-and-set. `revision` of a record counts from 1. */
export type RecordOf<V> = { readonly revision: number; readonly value: V }

/**
 * PORT. Stores read models. A row only replaces an older revision of itself, or an unreadable row of the same revision.
 * Therefore several writers may apply the same events, with retries in any order. Failure: Refusal
 * `backend_unavailable`; `body_too_large` if a row permanently exceeds the limits of the store.
 */
export type Views = {
  readonly get: <D extends object>(view: View, key: string) => Promise<Row<D> | undefined>
  /** Existing rows of these keys, in undefined order. */
  readonly getMany: <D extends object>(view: View, keys: readonly string[]) => Promise<readonly Row<D>[]>
  /**
   * Writes each row unless the stored one has a later revision, or the same revision without an improvement: a readable
   * row replaces an unreadable one. Later reads of this process return the written rows.
   */
  readonly put: (view: View, rows: readonly Row[]) => Promise<void>
  /** One page, and the total over all pages: exact below `count` of the query, which is its maximum. */
  readonly list: <D extends object>(
    view: View,
    query: Query,
  ) => Promise<{ readonly rows: readonly Row<D>[]; readonly total: number }>
  /** Distinct values of a field among the documents that meet the conditions, at most `most`, in undefined order. */
  readonly values: (view: View, where: Query['where'], field: string, most: number) => Promise<readonly Scalar[]>
  /** All rows, including tombstones and unreadable ones, or a part of them, in pages, in undefined order. */
  readonly scan: <D extends object>(view: View, part?: ViewPart) => AsyncIterable<readonly Row<D>[]>
  /**
   * Counts the documents with the field `having` by the value of the field `by`, as text. Both fields must be
   * searchable.
   */
  readonly tally: (view: View, having: string, by: string) => Promise<ReadonlyMap<string, number>>
  /** Checkpoint of the view; undefined if this version of the view was never built. */
  readonly checkpoint: (view: View) => Promise<Checkpoint | undefined>
  /**
   * Moves the checkpoint forward from the position `from` (undefined: no checkpoint yet). The checkpoint becomes
   * durable only after the rows that were put before. Returns false, and writes nothing, if the checkpoint is at
   * another position or missing.
   */
  readonly mark: (view: View, from: bigint | undefined, to: Checkpoint) => Promise<boolean>
  /** Number of rows of the view, including tombstones, and the sum of their `changes`. */
  readonly totals: (view: View) => Promise<Totals>
  /**
   * Position of the newest row of a view with a checkpoint; any position up to the checkpoint if no row is beyond it.
   */
  readonly newest: (view: View) => Promise<bigint>
  /** Continues the unfinished rebuild, or starts one. */
  readonly build: (view: View) => Promise<Building>
  /** Reads a record. The record is absent after its `until` (epoch ms). */
  readonly record: <V>(table: string, key: string) => Promise<RecordOf<V> | undefined>
  /** Existing records of these keys, by key. */
  readonly records: <V>(table: string, keys: readonly string[]) => Promise<ReadonlyMap<string, RecordOf<V>>>
  /**
   * Writes a record if its present revision is `expected` (0: absent or expired). Returns false if another writer was
   * faster. The record is durable when the promise resolves.
   */
  readonly swapRecord: (table: string, key: string, expected: number, value: object, until: number) => Promise<boolean>
  readonly close: () => Promise<void>
}

/**
 * PORT. Stores one snapshot of memory, and replaces it atomically. A read returns the bytes as written, or fails if the
 * store detects a difference; the reader verifies them. Failure: any error.
 */
export type Snapshots = {
  readonly read: () => Promise<Uint8Array | undefined>
  readonly write: (parts: AsyncIterable<Uint8Array>) => Promise<void>
  readonly remove: () => Promise<void>
}

/**
 * PORT. One holder at a time among all instances that share a store: the holder writes the views. The lease of one
 * holder ends before another's begins, whatever the clocks show. Never rejects: if the server is out of reach, the lease is not held.
 */
export type Lease = {
  /**
   * True while no other instance can hold it. Check it before each piece of work, because the lease ends by itself when
   * the server is unreachable.
   */
  readonly held: () => boolean
  /**
   * Holds the lease only while the condition is true. If the condition is false, the instance releases the lease, and
   * waits before it competes again.
   */
  readonly onlyWhile: (able: () => boolean) => void
  /** Releases the lease for good, so that another instance does not wait for its end. */
  readonly close: () => Promise<void>
}
