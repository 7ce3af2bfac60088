import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { Sealer } from '../../events/personal.ts'
import type { RowOf } from '../../projections/projection.ts'
import type { Views } from '../../projections/views.ts'
import type { Settings } from './settings.ts'

/** Services of every route: the event log, commands, read models and settings. */
export type CommandServices = {
  readonly log: EventLog
  readonly views: Views
  readonly execute: Execute
  readonly sealer: Sealer
  /** Applies events appended by this instance to memory. Returns a lookup of the rows after them. */
  readonly applied: (events: readonly Stored[]) => Promise<RowOf>
  /** Current time, used to decide about expiry. This time may be ahead of the clock (app/stores/event-clock.ts). */
  readonly now: () => Date
  readonly clock: Clock
  readonly settings: Settings
  /** Configured words for paths, cookies, headers and metrics. */
  readonly names: Names
}

/** Mounts one route, or all routes of one file, with the services of every route and those of one role. */
export type Mount<Service extends CommandServices> = (app: FastifyInstance, service: Service) => void
