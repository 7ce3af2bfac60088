import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/load.ts'
import type { IssuedToken, NewToken } from '../contract/token.ts'
import type { IndexedEvent } from '../history/facts.ts'
import type { ReplayServices } from './history/replay/replay-services.ts'
import type { Named } from './ledger/trusted-keys.ts'
import type { BackupServices } from './offline/backup-services.ts'
import type { Terminal } from './terminal/terminal.ts'

/** A token that was just issued, with its client token. */
export type NewlyIssued = IssuedToken & { readonly clientToken: string }

/**
 * Request for a static token. `expiresAt` is RFC 3339; undefined means never. The creator of the token checks the rules
 * of api.md §5.4 A7.
 */
export type TokenRequest = Pick<NewToken, 'name'> & {
  readonly [field in keyof NewToken]?: NewToken[field] | undefined
} & { readonly reason?: string | undefined }

/** Progress of a read model. Positions are decimal texts; `lag` counts events. */
export type ProjectionStatus = {
  readonly name: string
  readonly version: number
  readonly position: string
  readonly head: string
  readonly lag: number
}
export type RebuildProgress = { readonly name: string; readonly done: number; readonly total: number }
/** Receives messages of the work for the user. */
export type Say = (line: string) => void
type Rebuild = {
  readonly names: readonly string[]
  readonly progress: (progress: RebuildProgress) => void
  readonly signal: AbortSignal
}

/** A problem in the log. */
export type LogFinding = { readonly check: string; readonly where: string; readonly found: string }
type CheckedLog = { readonly events: number; readonly findings: readonly LogFinding[] }

export type Move = {
  /** Compares both stores and counts events without writing. */
  readonly dryRun: boolean
  readonly progress: (progress: RebuildProgress) => void
  readonly signal: AbortSignal
}
/**
 * Result of a migration: number of all events, and of those copied by this run (in a dry run: to be copied). A complete
 * migration adds the streams, the subjects with keys, and the SHA-256 of the history, which is equal on both sides.
 */
export type Moved = {
  readonly events: number
  readonly copied: number
  readonly streams?: number
  readonly subjects?: number
  /** Subjects with encrypted data whose key is missing in the source. */
  readonly lost?: number
  readonly digest?: string
  /** The ledger that the target continues. `sealed`: events that its sealed record covers; undefined without a record. */
  readonly ledger?: {
    readonly origin: string
    readonly sealed: number | undefined
    /** Files of the signing key. Without one the servers have the key. */
    readonly keyFiles: { readonly source: string | undefined; readonly target: string | undefined }
  }
}

type StoredRecord = IndexedEvent['record']

/** Ledger of a store, its keys without compromised ones. `others`: further texts that must be checkpoints of its log. */
type StoredLedger = LedgerOfStore & { readonly others?: readonly Named[] }
type LedgerOfStore = Readonly<{ origin: string; vkeys: readonly string[]; checkpoint: string }>

/** The records of a store, read only. */
export type StoredRecords = {
  /** All records in the order of the log, in pages of at most 1,000. */
  readonly pages: () => AsyncIterable<readonly StoredRecord[]>
  /** Undefined if the store has no ledger. */
  readonly ledger: () => Promise<StoredLedger | undefined>
}

/** State of the ledger of stores (api.md §17.5). `why` is the cause for which nothing is signed. */
export type LedgerReport = {
  readonly state: string
  readonly why?: string
  readonly ledger?: string
  readonly origin?: string
  /** Number of events of the log. */
  readonly size: number
  readonly sealed?: { readonly size: number; readonly root: string; readonly sealedAt: string }
  readonly keys: readonly {
    readonly vkey: string
    readonly since: string
    readonly until?: string
    readonly compromised: boolean
  }[]
  readonly scrub: object
}

/** Operations on the ledger of stores: embedded while the service is stopped, on servers at any time. */
type LedgerServices = {
  readonly ledgerStatus: (config: Config, clock: Clock, say: Say) => Promise<LedgerReport>
  /** Makes a checkpoint the sealed record. `name` is its source. Returns the sealed size, and the size of the log. */
  readonly resumeLedger: (
    config: Config,
    clock: Clock,
    checkpoint: { readonly text: string; readonly name: string },
    say: Say,
  ) => Promise<{ readonly size: number; readonly events: number }>
  /** Begins a new ledger. `isContinued`: an interrupted restart was completed instead. */
  readonly restartLedger: (
    config: Config,
    clock: Clock,
    restart: { readonly reason: string; readonly last: string | undefined },
    say: Say,
  ) => Promise<{ readonly origin: string; readonly vkey: string; readonly isContinued: boolean }>
  /** Replaces the signing key. `isContinued`: an interrupted change was completed instead. */
  readonly rotateLedgerKey: (
    config: Config,
    clock: Clock,
    compromised: boolean,
    say: Say,
  ) => Promise<{ readonly vkey: string; readonly isContinued: boolean }>
  /** Makes the kept hashes from the log. Returns their first difference, and that of the sealed record. */
  readonly rebuildLedger: (
    config: Config,
    clock: Clock,
    say: Say,
  ) => Promise<{
    readonly events: number
    readonly difference?: { readonly index: number; readonly kind: string }
    readonly sealed?: string
  }>
}

/**
 * Functions of the service that the command line needs; app/start.ts provides them. All except `start` work on stored
 * data while the service is stopped; tokens can be created on servers at any time.
 */
export type Services = LedgerServices &
  BackupServices &
  ReplayServices & {
    readonly start: (
      config: Config,
      options: {
        readonly warnings: readonly string[]
        readonly meant: readonly string[]
        readonly fatal: () => void
        /** Ends the process without waiting. */
        readonly cut: () => void
        readonly onLogFile: (reopen: () => void) => void
        /** Requests the end of the service; a running start rejects with its reason. */
        readonly ending?: AbortSignal
        /** Reason for starting although keys are lost. */
        readonly acceptLostKeys?: string | undefined
        /** Reason for starting although the log is damaged. */
        readonly acceptDamagedLog?: string | undefined
      },
    ) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>
    /** Problems in the log of a data directory, which a service may be using; `events` is the number of events read. */
    readonly checkLog: (config: Config) => Promise<CheckedLog>
    /** Runs work on the records of a store, which a service may be using. */
    readonly withRecords: <T>(config: Config, clock: Clock, work: (records: StoredRecords) => Promise<T>) => Promise<T>
    /** Problems of server addresses; contacts no server. */
    readonly wrongAddresses: (
      config: Config,
    ) => Promise<readonly { readonly key: string; readonly description: string }[]>
    readonly createTokenOffline: (config: Config, request: TokenRequest, say: Say) => Promise<NewlyIssued>
    /** Deletes a flag; refuses with 404 if it does not exist. */
    readonly deleteFlagOffline: (
      config: Config,
      flag: { readonly namespace: string; readonly key: string; readonly reason?: string },
      say: Say,
    ) => Promise<void>
    readonly projectionStatus: (config: Config, say: Say) => Promise<readonly ProjectionStatus[]>
    /**
     * Rebuilds each named read model, which then replaces the old one. An aborted rebuild leaves the old one in place.
     */
    readonly rebuildProjections: (config: Config, rebuild: Rebuild, say: Say) => Promise<void>
    /**
     * Copies the history and the keys of a store to another place. A repeated call continues where the previous
     * one stopped.
     */
    readonly moveStores: (from: Config, to: Config, move: Move) => Promise<Moved>
  }

/** Loads app/start.ts on demand, because other commands start faster without it. */
export type LoadServices = () => Promise<Services>

/** Environment of a run of the command line. */
export type Around = { readonly load: LoadServices; readonly clock: Clock; readonly terminal: Terminal }

/** Services that every command receives. */
export type CommandServices = Around & {
  /** Words of the command line, without the name of the program. */
  readonly argv: readonly string[]
  /** Sets the exit code of a run that does not fail. */
  readonly endWith: (exit: number) => void
}
