import type { AsOf, Moment } from '../../as-of/as-of.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Reservations } from '../../commands/reservations.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { LastUses } from '../../jobs/last-uses.ts'
import type { FlagStore } from '../../projections/flag-memory/flag-store.ts'
import type { HolderOf } from '../steps/as-of-readings.ts'
import type { FlagStreams } from '../streams/flag-streams.ts'
import type { AuthServices } from './auth.ts'
import type { CommandServices, Mount } from './commands.ts'
import type { LoginServices } from './logins.ts'

/** Page tokens of lists: opaque, signed, and valid only for their scope (api.md §5.4, §7.7). */
export type PageTokens = {
  readonly write: (scope: readonly unknown[], cursor: unknown) => string
  /** Cursor exactly as written for this scope; any other text is refused with 400 `invalid_page_token`. */
  readonly read: (scope: readonly unknown[], token: string) => unknown
}

/** Services of the routes of namespaces, flags and segments. */
export type FlagServices = {
  readonly flagStore: FlagStore<Compiled>
  /**
   * Snapshot of flags, segments and tokens as of a moment; refuses a moment in the future with 400 `invalid_at`. `stop`
   * is the signal of the request, `name` the field of the moment, `at` by default.
   */
  readonly asOf: (moment: Moment, stop: AbortSignal, name?: string) => Promise<AsOf<Compiled>>
  readonly reservations: Reservations
  /** Commands of dry runs: decided and checked like the real ones, but nothing is appended. */
  readonly rehearsal: { readonly execute: Execute; readonly reservations: Pick<Reservations, 'changeFlag'> }
  /** Last evaluations of flags and last fetches of snapshots. */
  readonly evaluations: LastUses
  readonly pageTokens: PageTokens
}

/** Services of evaluations, snapshots and streams about flags. */
export type EvaluationServices = Pick<FlagServices, 'flagStore' | 'asOf' | 'evaluations'> &
  Pick<AuthServices, 'tickets' | 'verifier' | 'fresh'> &
  Pick<LoginServices, 'cookies'> & {
    /** Finds the holder of a token. */
    readonly pastReadings: HolderOf
    /** Open streams about flags. */
    readonly flagStreams: FlagStreams
    /** Resolves to true as soon as memory contains every event up to the position; to false after `withinMs` ms. */
    readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  }

export type FlagService = CommandServices & FlagServices
export type FlagMount = Mount<FlagService>
export type EvaluationService = CommandServices & EvaluationServices
