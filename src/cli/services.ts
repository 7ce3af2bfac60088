import type { Clock } from '../clock.ts'
import type { Config } from '../config/load.ts'
import type { IssuedToken, NewToken } from '../contract/token.ts'
import type { Terminal } from './terminal/terminal.ts'

/** A token issued just now: the client token is told. */
export type NewlyIssued = IssuedToken & { readonly clientToken: string }

/** A static token to make; `expiresAt` is RFC 3339, undefined = never. The rules of api.md §5.4 A7 are checked by whoever makes it. */
export type TokenRequest = Pick<NewToken, 'name'> & {
  readonly [field in keyof NewToken]?: NewToken[field] | undefined
} & { readonly reason?: string | undefined }

/** Where a read model stands; positions are decimal texts, `lag` counts events. */
export type ProjectionStatus = {
  readonly name: string
  readonly version: number
  readonly position: string
  readonly head: string
  readonly lag: number
}
export type RebuildProgress = { readonly name: string; readonly done: number; readonly total: number }
/** Takes what the work has to tell people. */
export type Say = (line: string) => void
export type Rebuild = {
  readonly names: readonly string[]
  readonly progress: (progress: RebuildProgress) => void
  readonly signal: AbortSignal
}

/** What is not as the service leaves it. */
export type LogFinding = { readonly check: string; readonly where: string; readonly found: string }

export type Move = {
  /** Compare and count, and write nothing. */
  readonly dryRun: boolean
  readonly progress: (progress: RebuildProgress) => void
  readonly signal: AbortSignal
}
/**
 * What was moved: all events, and those copied by this run (a dry run: to be copied). A complete move adds streams,
 * subjects with keys, and the SHA-256 of the history, equal on both sides.
 */
export type Moved = {
  readonly events: number
  readonly copied: number
  readonly streams?: number
  readonly subjects?: number
  /** Subjects with sealed data whose key the source has lost. */
  readonly lost?: number
  readonly digest?: string
}

/** What the command line needs of the whole house; app.ts gives it. All but `start` work on the data itself: while the service is down, or, a token made on servers, at any time. */
export type Services = {
  readonly start: (
    config: Config,
    options: {
      readonly warnings: readonly string[]
      readonly meant: readonly string[]
      readonly fatal: () => void
      /** Ends the process without waiting for anything. */
      readonly cut: () => void
      /** Asks the service to end; a start that is under way rejects with the reason. */
      readonly ending?: AbortSignal
      /** Why the service goes on though keys are lost. */
      readonly acceptLostKeys?: string | undefined
      /** Why the service goes on though its log is damaged. */
      readonly acceptDamagedLog?: string | undefined
    },
  ) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>
  /** All that is not right in the log of a data directory, the service may run; `events` were read. */
  readonly checkLog: (config: Config) => Promise<{ readonly events: number; readonly findings: readonly LogFinding[] }>
  /** What is wrong with the addresses of servers; asks none of them. */
  readonly wrongAddresses: (
    config: Config,
  ) => Promise<readonly { readonly key: string; readonly description: string }[]>
  readonly createTokenOffline: (config: Config, request: TokenRequest, say: Say) => Promise<NewlyIssued>
  /** Deletes a flag; refuses with 404 what is not there. */
  readonly deleteFlagOffline: (
    config: Config,
    flag: { readonly namespace: string; readonly key: string; readonly reason?: string },
    say: Say,
  ) => Promise<void>
  readonly projectionStatus: (config: Config, say: Say) => Promise<readonly ProjectionStatus[]>
  /** Builds each named read model anew and swaps it in; an aborted one leaves the old in place. */
  readonly rebuildProjections: (config: Config, rebuild: Rebuild, say: Say) => Promise<void>
  /** Copies the whole history and the keys of an embedded store to another place; begun again it goes on where it stopped. */
  readonly moveStores: (from: Config, to: Config, move: Move) => Promise<Moved>
}

/** Loads app.ts when a verb needs it: the others start faster without. */
export type LoadServices = () => Promise<Services>

/** What a run of the command line is given. */
export type Around = { readonly load: LoadServices; readonly clock: Clock; readonly terminal: Terminal }

/** What every verb is given. */
export type CommandServices = Around & {
  /** Sets the exit code of a run that does not fail. */
  readonly endWith: (exit: number) => void
}
