import type { FastifyInstance } from 'fastify'
import type { AccessPolicy } from '../../access/rules.ts'
import type { Clock } from '../../base/clock.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { Sealer } from '../../events/personal.ts'
import type { RowOf } from '../../projections/projection.ts'
import type { Views } from '../../projections/views.ts'

/** Settings that routes read. */
export type Settings = {
  readonly required: boolean
  readonly exclude: { readonly management: boolean; readonly evaluation: boolean; readonly ofrep: boolean }
  /** OFREP clients receive events about changes. */
  readonly eventStreams: boolean
  readonly readOnly: boolean
  readonly rateLimited: boolean
  /** Maximum requests per minute of a publishable token from one address; 0 is no limit. */
  readonly clientLimit: number
  /** Roles, and rules for logins and exchanges. */
  readonly access: AccessPolicy
  /** Namespaces in which writes need a reason, `*` for all and the deployment. */
  readonly requireReason: readonly string[]
  readonly session: {
    readonly domain: string | undefined
    readonly secure: boolean
    /** Times in ms. */
    readonly tokenLifetime: number
    readonly stateLifetime: number
    readonly trustedOrigins: readonly string[]
  }
  readonly publicUrl: string | undefined
  /** Host names accepted for requests without a credential. */
  readonly allowedHosts: readonly string[]
  /** Origins allowed by CORS, `*` for all; empty if CORS is off. */
  readonly corsOrigins: readonly string[]
  /** Maximum size of an answer with many items, in bytes. */
  readonly mostBytes: number
  /** The same limit for publishable tokens. */
  readonly publishedMostBytes: number
  readonly trustProxy: boolean | readonly string[]
  /** True if the address of the service answers GET /metrics. */
  readonly metricsHere: boolean
  /** Settings of the web UI; an absent text is `''`. */
  readonly ui: {
    readonly enabled: boolean
    readonly theme: 'system' | 'light' | 'dark'
    readonly topbarColor: string
    readonly topbarLabel: string
  }
}

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
