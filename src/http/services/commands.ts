import type { Clock } from '../../base/clock.ts'
import type { Execute } from '../../commands/execute.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { Sealer } from '../../events/personal.ts'
import type { RowOf } from '../../projections/projection.ts'

/** Services that append events and apply them to memory. */
export type CommandServices = {
  readonly log: EventLog
  readonly execute: Execute
  readonly sealer: Sealer
  /** Applies events appended by this instance to memory. Returns a lookup of the rows after them. */
  readonly applied: (events: readonly Stored[]) => Promise<RowOf>
  /** Resolves to true as soon as memory contains every event up to the position; to false after `withinMs` ms. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Name of this instance in the history. */
  readonly instance: string
  /** True if no other instance writes to this log, so memory always has its newest event. */
  readonly alone: boolean
  /** Current time, used to decide about expiry. This time may be ahead of the clock (app/event-clock.ts). */
  readonly now: () => Date
  readonly clock: Clock
}
