import type { AsOf, Moment } from '../../as-of/as-of.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Reservations } from '../../commands/reservations.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { History } from '../../history/history.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { FlagStore } from '../../projections/flag-memory/flag-store.ts'
import type { QuarantinedDocuments } from '../../projections/flag-memory/quarantined-documents.ts'
import type { View, Views } from '../../projections/views.ts'
import type { AsOfReadings } from '../as-of-readings.ts'
import type { StreamSlots } from '../history/stream-slots.ts'
import type { Idempotency } from '../idempotency.ts'
import type { FlagStreams } from '../streams/flag-streams.ts'

/** Page tokens of lists: opaque, signed, and valid only for their scope (api.md §5.4, §7.7). */
export type PageTokens = {
  readonly write: (scope: readonly unknown[], cursor: unknown) => string
  /** Cursor exactly as written for this scope; any other text is refused with 400 `invalid_page_token`. */
  readonly read: (scope: readonly unknown[], token: string) => unknown
}

/** Services that answer reads: memory, views, and past states. */
export type ReadServices = {
  readonly flagStore: FlagStore<Compiled>
  /** Quarantined documents. */
  readonly closed: QuarantinedDocuments
  readonly views: Views
  /** Resolves to true as soon as a read model contains every event up to the position; to false after `withinMs` ms. */
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
  /**
   * Snapshot of flags, segments and tokens as of a moment; refuses a moment in the future with 400 `invalid_at`. `stop`
   * is the signal of the request, `name` the field of the moment, `at` by default.
   */
  readonly asOf: (moment: Moment, stop: AbortSignal, name?: string) => Promise<AsOf<Compiled>>
  readonly pastReadings: AsOfReadings
  readonly history: History
  readonly historyStreams: StreamSlots
  /** Open streams about flags. */
  readonly flagStreams: FlagStreams
  readonly ledger: Ledger
  readonly pageTokens: PageTokens
  readonly reservations: Reservations
  /** Commands of dry runs: decided and checked like the real ones, but nothing is appended. */
  readonly rehearsal: { readonly execute: Execute; readonly reservations: Pick<Reservations, 'changeFlag'> }
  readonly idempotency: Idempotency
}
