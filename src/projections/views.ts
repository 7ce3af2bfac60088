import type { Unreadable } from '../events/unreadable.ts'

/**
 * Documents that have the first of these fields, and lack `lacking` or have `having` where that is given, by all the
 * fields in turn and then by key. What `also` names can be looked at without reading the document.
 */
export type Index = {
  readonly by: readonly string[]
  readonly lacking?: string
  readonly having?: string
  readonly also?: readonly string[]
}

/**
 * A kind of document: its name, the version of its shape (a new version is built anew), the top-level fields that can
 * be searched (text, number or absent), and the indexes by which searches are fast. Where several would do, the first
 * does: those that find the fewest come first.
 */
export type View = {
  readonly name: string
  readonly version: number
  readonly fields: readonly string[]
  readonly indexes: readonly Index[]
}

/**
 * What closed a document: the event, and the document as it was before, as far as it is known. `clue`: what the
 * document is looked up by, where no more than that is known.
 */
export type Closed<D extends object = object> = Unreadable & { readonly before?: D; readonly clue?: string }

/**
 * One document. `revision` and `position` are those of the last event applied; events that change nothing may be
 * skipped. `changes` is the revision that clients see: how many events changed the document, those that closed it included. A row without a document is a tombstone: it keeps older events
 * from bringing the document back. `unreadable`: an event of the stream cannot be read here, and closes the document
 * from that event on: nobody knows what it is now. The row keeps its place as a tombstone does, and no list gives it. A
 * version that can read the event opens it again.
 */
export type Row<D extends object = object> = {
  readonly key: string
  readonly revision: bigint
  readonly position: bigint
  readonly changes: bigint
  readonly doc: D | undefined
  readonly unreadable?: Closed<D>
}

export type Scalar = string | number
/**
 * The field equals one of the values (undefined = absent), begins with `prefix`, or lies in [from, below). An absent
 * field is in no range unless `orAbsent`.
 */
export type Match =
  | { readonly equals: readonly (Scalar | undefined)[] }
  | { readonly prefix: string }
  | { readonly from?: Scalar; readonly below?: Scalar; readonly orAbsent?: boolean }

/** An order by key alone. */
export const KEY = '_key'

/**
 * All conditions must hold. Rows come by `order`, then key, ascending or both descending, from just behind `after`. Tombstones, closed
 * rows and documents without the `order` field never come; by `KEY` they come unless a condition leaves them out. All pages together are
 * counted up to `count`, and not at all without.
 */
export type Query = {
  readonly where: Readonly<Record<string, Match | readonly Match[]>>
  readonly order: string
  readonly descending?: boolean
  readonly after?: { readonly value: Scalar; readonly key: string }
  readonly limit: number
  readonly count?: number
}

/** Of the documents that lack a field, these other fields; all are fields that can be asked for. Rows without a document come as they are. */
export type ViewPart = { readonly lacking: string; readonly fields: readonly string[] }

/**
 * For each of the first so many of these texts the document that has it in the field `by`, and in the field `order` the least value from `from` on;
 * undefined where there is none. Found together at less cost than by a query each; they end where they are a lot of text, behind one at least.
 */
export type FindLeast = <D extends object>(
  view: View,
  texts: readonly string[],
  least: { readonly by: string; readonly order: string; readonly from: Scalar },
) => Promise<readonly (D | undefined)[]>

/** How far a view is, and of which log: what it must find there again before it goes on. */
export type Checkpoint = {
  /** Up to here it holds every event. */
  readonly position: bigint
  /** Id of the event at the position, `''` before the first. */
  readonly event: string
  /** Id of the first event of the log, by which a log is told from any other; `''` before there is one. */
  readonly log: string
  /** Events of the log up to the position. */
  readonly events: number
  /** Documents begun up to the position: the view has as many rows, or more. */
  readonly rows: number
  /** Events up to the position that changed a document: the `changes` of all rows add up to as many, or more. */
  readonly changes: number
}

/** What all rows of a view come to. */
export type Totals = Pick<Checkpoint, 'rows' | 'changes'>

/** Whether rows are missing, or older than those that the checkpoint stands for: no view that holds every event up to it has such totals. */
export const fallShort = (found: Totals, checkpoint: Totals): boolean =>
  found.rows < checkpoint.rows || found.changes < checkpoint.changes

/** Whether a row is to be written over one that is there. */
export const supersedes = (row: Row, there: Row): boolean =>
  row.revision > there.revision ||
  (row.revision === there.revision && row.unreadable === undefined && there.unreadable !== undefined)

/** A read model under construction beside the live one. What is left before it is swapped in, by a crash too, the next build of the view goes on with. */
export type Building = {
  /** How far the build that was left had come; undefined for one that begins. Rows of later events may be there too. */
  readonly checkpoint: Checkpoint | undefined
  /** The rows that there are of these keys, in no promised order; those put last among them. */
  readonly getMany: <D extends object>(keys: readonly string[]) => Promise<readonly Row<D>[]>
  /** Writes each row unless there is a later one of its key. */
  readonly put: (rows: readonly Row[]) => Promise<void>
  /** Keeps how far it is; never durable before the rows put earlier are. */
  readonly mark: (checkpoint: Checkpoint) => Promise<void>
  /** Makes the new rows the view's rows, with their checkpoint, in one step. */
  readonly swap: (checkpoint: Checkpoint) => Promise<void>
  /** Stops, and keeps what there is for the next build. */
  readonly leave: () => Promise<void>
  readonly discard: () => Promise<void>
}

/** Kept answers and other small records that are changed by compare-and-set. `revision` counts from 1. */
export type RecordOf<V> = { readonly revision: number; readonly value: V }

/**
 * PORT. Where read models live. A row is written only over an older revision of itself, or open over closed, so any number of writers may apply the same
 * events, in any order of retries, and the result is the same. Failure: Refusal `backend_unavailable`; `body_too_large` for rows of which
 * the store does not take one, ever.
 */
export type Views = {
  readonly get: <D extends object>(view: View, key: string) => Promise<Row<D> | undefined>
  /** The rows that there are of these keys, in no promised order. */
  readonly getMany: <D extends object>(view: View, keys: readonly string[]) => Promise<readonly Row<D>[]>
  /** Writes each row unless the stored one has a later revision, or the same and is not closed where the new one is open. Rows put are seen by every later get and list of this process. */
  readonly put: (view: View, rows: readonly Row[]) => Promise<void>
  /** One page, and how many rows all pages have: exactly below the query's `count`, which is the most it ever says. */
  readonly list: <D extends object>(
    view: View,
    query: Query,
  ) => Promise<{ readonly rows: readonly Row<D>[]; readonly total: number }>
  /** The values of a field, each once and so many at most, in no promised order, among the documents that meet conditions. */
  readonly values: (view: View, where: Query['where'], field: string, most: number) => Promise<readonly Scalar[]>
  /** Every row, tombstones and closed ones too, or a part of what there is, in pages, in no promised order. */
  readonly scan: <D extends object>(view: View, part?: ViewPart) => AsyncIterable<readonly Row<D>[]>
  /** How many documents that have a field there are with each value of another, by that value as text; both are fields that can be asked for. */
  readonly tally: (view: View, having: string, by: string) => Promise<ReadonlyMap<string, number>>
  /** How far the view is; undefined for a view (or version of it) never built. */
  readonly checkpoint: (view: View) => Promise<Checkpoint | undefined>
  /**
   * Moves the checkpoint forwards from the position where it stands (undefined = there is none yet); never durable before the rows put
   * earlier are. False when it stands elsewhere or is gone, and then nothing is written.
   */
  readonly mark: (view: View, from: bigint | undefined, to: Checkpoint) => Promise<boolean>
  /** How many rows the view has, tombstones too, and the sum of their `changes`. */
  readonly totals: (view: View) => Promise<Totals>
  /** Position of the newest row of a view that has a checkpoint; any up to the checkpoint where no row is behind that. */
  readonly newest: (view: View) => Promise<bigint>
  /** Goes on with the build that was left last, or begins one. */
  readonly build: (view: View) => Promise<Building>
  /** Reads a record; one past its `until` (epoch ms) is absent. */
  readonly record: <V>(table: string, key: string) => Promise<RecordOf<V> | undefined>
  /** The records that there are of these keys, by key. */
  readonly records: <V>(table: string, keys: readonly string[]) => Promise<ReadonlyMap<string, RecordOf<V>>>
  /** Writes a record if its present revision is `expected` (0 = absent or past its time). False when another was first. Durable before it answers. */
  readonly swapRecord: (table: string, key: string, expected: number, value: object, until: number) => Promise<boolean>
  readonly close: () => Promise<void>
}
