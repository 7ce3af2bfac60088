import type { Clock } from '../../../base/clock.ts'
import type { Config } from '../../../config/load.ts'
import type { IndexedEvent } from '../../../history/facts.ts'

/** Records to replay in the order of their log from index 0 on, in pages of at most 1,000. */
export type ReplayedPages = AsyncIterable<readonly IndexedEvent['record'][]>

/** A row of a read model that is compared. `position`: that of its last event, if the source numbers events the same way. */
export type ComparedRow = { readonly key: string; readonly sha256: string; readonly position?: bigint }

/** Read models to compare with those of a replay. */
export type ComparedModels = {
  /** All rows of a read model in pages; undefined if its version is another one or missing. */
  readonly rows: (name: string, version: number) => Promise<AsyncIterable<readonly ComparedRow[]> | undefined>
}

type Replay = {
  readonly pages: ReplayedPages
  /** Number of records; undefined if it is not known before the end. */
  readonly total: number | undefined
  /** Read models to fold; none: all. */
  readonly names: readonly string[]
  /** True if the target also gets the records, without keys. */
  readonly isKept: boolean
  /** The stopped data directory or the running service whose read models are compared. */
  readonly compare: Config | ComparedModels | undefined
  readonly progress: (progress: { readonly name: string; readonly done: number; readonly total: number }) => void
  readonly signal: AbortSignal
}

/** A read model that was folded, with the number of its rows. */
export type ReplayedModel = { readonly name: string; readonly version: number; readonly rows: number }

/** First difference of two stores: a read model, its least key that differs, and the difference. */
type ReplayDifference = { readonly model: string; readonly key?: string; readonly difference: string }

export type Replayed = {
  readonly events: number
  readonly models: readonly ReplayedModel[]
  readonly difference?: ReplayDifference
  /** Number of compared rows that events after the last replayed one changed. They are not compared further. */
  readonly later: number
}

export type ReplayServices = {
  /** Folds records into the read models of a new data directory. Rejects with the reason of the signal at an abort. */
  readonly replayRecords: (target: Config, clock: Clock, replay: Replay) => Promise<Replayed>
}
