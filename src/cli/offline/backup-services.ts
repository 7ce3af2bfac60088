import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../config/load.ts'

/** Receives the number of events that are compared with the checkpoint. */
type Progress = (progress: { readonly name: string; readonly done: number; readonly total: number }) => void

type RecordsOfBackup = {
  /** Number of events of the log. */
  readonly events: number
  /** Position of the last one. */
  readonly position: string
}

/** A backup. `canSign`: its signing key is the one that its log names; absent without keys. */
type CheckedBackup = RecordsOfBackup & { readonly isSealed: boolean; readonly canSign?: boolean }

/** Ledger of a restored directory. */
type RestoredLedger =
  | { readonly state: 'none' }
  | { readonly state: 'suspended'; readonly origin: string }
  | { readonly state: 'continued'; readonly origin: string; readonly sealed: number }
  | { readonly state: 'restarted'; readonly origin: string; readonly vkey: string }

/** Decision of the operator on the ledger of a restored directory; undefined leaves it suspended. */
type LedgerDecision =
  /** Text and name of the newest checkpoint that anybody retains. */
  | { readonly text: string; readonly name: string }
  /** Reason for a new ledger. */
  | { readonly reason: string }
  | undefined

/** Operations on backups of a data directory. */
export type BackupServices = {
  /** Copies a data directory, which a service may be using, to an empty directory, and checks the copy. */
  readonly backUp: (
    config: Config,
    clock: Clock,
    target: { readonly directory: string; readonly withKeys: boolean; readonly progress: Progress },
  ) => Promise<CheckedBackup>
  /** Checks a backup and restores it into an empty directory. */
  readonly restoreBackup: (
    clock: Clock,
    places: { readonly directory: string; readonly into: string; readonly progress: Progress },
    decision: LedgerDecision,
    say: (line: string) => void,
  ) => Promise<RecordsOfBackup & { readonly keys: boolean; readonly ledger: RestoredLedger }>
}
