import type { Clock } from '../../../clock.ts'
import type { Config } from '../../../config/load.ts'
import type { IndexedEvent } from '../../../history/facts.ts'

/** Records to replay in the order of their log from index 0 on, in pages of at most 1,000. */
export type ReplayedPages = AsyncIterable<readonly IndexedEvent['record'][]>

type Replay = {
  readonly pages: ReplayedPages
  /** Number of records; undefined if it is not known before the end. */
  readonly total: number | undefined
  /** Read models to fold; none: all. */
  readonly names: readonly string[]
  /** True if the target also gets the records, without keys. */
  readonly isKept: boolean
  /** Stopped data directory whose read models are compared. */
  readonly compare: Config | undefined
  readonly progress: (progress: { readonly name: string; readonly done: number; readonly total: number }) => void
  readonly signal: AbortSignal
}

/** A read model that was folded, with the number of its rows. */
export type ReplayedModel = { readonly name: string; readonly version: number; readonly rows: number }

/** First difference of two stores: a read model, its least key that differs, and the difference. */
export type ReplayDifference = { readonly model: string; readonly key?: string; readonly difference: string }

export type Replayed = {
  readonly events: number
  readonly models: readonly ReplayedModel[]
  readonly difference?: ReplayDifference
}

export type ReplayServices = {
  /** Folds records into the read models of a new data directory. Rejects with the reason of the signal at an abort. */
  readonly replayRecords: (target: Config, clock: Clock, replay: Replay) => Promise<Replayed>
}
