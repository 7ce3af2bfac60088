import type { Clock } from '../../clock.ts'
import type { Execute } from '../../commands/execute.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { Sealer } from '../../events/personal.ts'
import type { RowOf } from '../../projections/projection.ts'

/** Services that append events and apply them to memory. */
export type CommandServices = {
  readonly log: EventLog
  readonly execute: Execute
  readonly sealer: Sealer
  /** Applies events that this instance appended to memory; finds the newest rows of their documents. */
  readonly applied: (events: readonly Stored[]) => Promise<RowOf>
  /** Resolves to true once memory holds every event up to the position, to false after `withinMs` milliseconds. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Name of this instance in the history. */
  readonly instance: string
  /** True if no other instance writes to this log, so the head seen here is its head. */
  readonly alone: boolean
  /** The present, by which expiries are decided. It may be ahead of the clock (app/event-clock.ts). */
  readonly now: () => Date
  readonly clock: Clock
}
