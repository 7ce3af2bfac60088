import type { Index } from '../../../projections/views.ts'
import type { Value } from '../sqlite.ts'

/**
 * Events as one flat list of texts, five for each event: id, type, time, data, meta. A flat list is the fastest form to
 * pass between threads.
 */
type FlatEvents = readonly string[]
export type AppendReply =
  | 'conflict'
  | { readonly revision: number; readonly positions: readonly number[]; readonly times?: readonly string[] }
/**
 * Each row consists of key, revision, position, changes, document and unreadable event, then the value of each
 * searchable field.
 */
export type FlatRows = readonly Value[]
/** A row as read from a table of a read model. */
export type Raw = [key: string, revision: number, position: number, changes: number, doc: Text, unreadable: Text]
type Text = string | null
export type FlatCheckpoint = readonly [
  position: number,
  event: string,
  log: string,
  events: number,
  rows: number,
  changes: number,
]
type FlatBinding = readonly [event: string, position: number]
export type Shape = { readonly table: string; readonly fields: readonly string[]; readonly indexes: readonly Index[] }

/**
 * Operations of the writer thread. Positions are numbers instead of bigints, because a file never holds 2^53 events.
 */
export type Calls = {
  readonly append: (stream: string, expected: number, events: FlatEvents) => AppendReply
  readonly swapRecord: (
    kind: string,
    key: string,
    expected: number,
    value: string,
    until: number,
    now: number,
  ) => boolean
  readonly ran: (name: string, started: number, finished: number | null, error: string | null) => void
  readonly put: (view: Shape, rows: FlatRows) => void
  readonly mark: (view: Shape, from: number | null, to: FlatCheckpoint) => boolean
  /** Continues an earlier unfinished rebuild, or creates a table named `fresh`. */
  readonly build: (view: Shape, fresh: string) => { readonly staging: string; readonly checkpoint?: FlatCheckpoint }
  readonly buildPut: (view: Shape, staging: string, rows: FlatRows) => void
  /** Existing rows of these keys, including all rows written before. */
  readonly buildGet: (view: Shape, staging: string, keys: readonly string[]) => readonly Raw[]
  readonly buildMark: (staging: string, to: FlatCheckpoint) => void
  readonly buildLeave: (staging: string) => void
  readonly buildIndex: (table: string, index: Index) => void
  readonly buildSwap: (view: Shape, staging: string, to: FlatCheckpoint) => void
  readonly buildDiscard: (staging: string) => void
  readonly makeKey: (subject: string, wrapped: Uint8Array) => Uint8Array | null
  readonly findKey: (subject: string) => Uint8Array | null | undefined
  readonly destroyKeys: (subjects: readonly string[]) => void
  readonly keyStates: (subjects: readonly string[]) => readonly (readonly [subject: string, 'kept' | 'erased'])[]
  readonly keysBetween: (from: string, below: string, most: number) => readonly string[]
  readonly putKeysAside: () => void
  readonly scrubKeys: () => void
  readonly readBinding: () => FlatBinding | undefined
  readonly writeBinding: (event: string, position: number) => FlatBinding
  /** Switches to the new file at the path of the views. */
  readonly renewViews: () => void
  readonly close: () => void
}
export type Op = keyof Calls
export type Side = 'log' | 'views' | 'keys'

export type Request = readonly [id: number, op: Op, args: readonly unknown[]]
export const sides: Readonly<Record<Exclude<Op, 'close' | 'renewViews'>, Side>> = {
  append: 'log',
  swapRecord: 'log',
  ran: 'log',
  put: 'views',
  mark: 'views',
  build: 'views',
  buildPut: 'views',
  buildGet: 'views',
  buildMark: 'views',
  buildLeave: 'views',
  buildIndex: 'views',
  buildSwap: 'views',
  buildDiscard: 'views',
  makeKey: 'keys',
  findKey: 'keys',
  destroyKeys: 'keys',
  keyStates: 'keys',
  keysBetween: 'keys',
  putKeysAside: 'keys',
  scrubKeys: 'keys',
  readBinding: 'keys',
  writeBinding: 'keys',
}

/**
 * - `lost`: this process can no longer write this side of the store.
 * - `damaged`: the file is damaged; no process can write it.
 * - `failed`: this group was not written; the next may be.
 * - `full`: the disk is full.
 * - `taken`: the path of an open file leads to another file or to none; no file is written any more.
 */
export type Failure = { readonly kind: 'lost' | 'damaged' | 'failed' | 'full' | 'taken'; readonly message: string }
export type Reply = readonly [
  ids: readonly number[],
  outcome: { readonly values: readonly unknown[] } | (Failure & { readonly side: Side }),
]
/** Files of the writer. `keepsTimes`: events of another log keep their times, which may decrease. */
export type Paths = {
  readonly events: string
  readonly views: string
  readonly subjects: string
  readonly keepsTimes?: boolean
}
