import type { FastifyInstance } from 'fastify'
import type { AccessPolicy } from '../access/rules.ts'
import type { AsOf, Moment } from '../as-of/as-of.ts'
import type { Limiter } from '../auth/rate-limit.ts'
import type { Clock } from '../clock.ts'
import type { Execute } from '../commands/execute.ts'
import type { Reservations } from '../commands/reservations.ts'
import type { Names } from '../contract/identifiers.ts'
import type { Info, Readiness as ReadinessAnswer } from '../contract/operations.ts'
import type { Compiled } from '../evaluation/compile.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { Sealer } from '../events/personal.ts'
import type { Method } from '../events/token.ts'
import type { RefusalHistory } from '../jobs/refusals.ts'
import type { TokenUses } from '../jobs/token-uses.ts'
import type { FlagStore } from '../projections/flag-memory/flag-store.ts'
import type { QuarantinedDocuments } from '../projections/flag-memory/quarantined-documents.ts'
import type { RowOf } from '../projections/projection.ts'
import type { TokenStanding } from '../projections/token-memory/token-index.ts'
import type { View, Views } from '../projections/views.ts'
import type { AsOfReadings } from './as-of-readings.ts'
import type { TokenVerifier } from './auth/token-verifier.ts'
import type { Idempotency } from './idempotency.ts'
import type { PageTokens } from './lists/paging.ts'
import type { Exchange, Logins } from './login/login-method.ts'
import type { Narrow } from './login/narrowing.ts'
import type { Metrics } from './operations/metrics.ts'
import type { CookieJar } from './wire/cookies.ts'
import type { Budgets } from './wire/room.ts'

/** What routes must know of the configuration. */
export type Settings = {
  readonly required: boolean
  readonly exclude: { readonly management: boolean; readonly evaluation: boolean; readonly ofrep: boolean }
  readonly readOnly: boolean
  readonly rateLimited: boolean
  /** Requests a minute of one publishable token from one address; 0 is no limit. */
  readonly clientLimit: number
  /** Rules for logins and exchanges, and the roles there are. */
  readonly access: AccessPolicy
  readonly session: {
    readonly domain: string | undefined
    readonly secure: boolean
    /** Milliseconds. */
    readonly tokenLifetime: number
    readonly stateLifetime: number
    readonly trustedOrigins: readonly string[]
  }
  readonly publicUrl: string | undefined
  /** Names by which the service may be asked without a credential. */
  readonly allowedHosts: readonly string[]
  /** Origins that CORS answers, `*` for all; none when it is off. */
  readonly corsOrigins: readonly string[]
  /** Bytes that an answer of many parts may have. */
  readonly mostBytes: number
  /** The same for tokens that may be published. */
  readonly publishedMostBytes: number
  readonly trustProxy: boolean | readonly string[]
  /** Whether GET /metrics is answered at the address of the service. */
  readonly metricsHere: boolean
  /** Of the web UI; an absent text is `''`. */
  readonly ui: {
    readonly enabled: boolean
    readonly theme: 'system' | 'light' | 'dark'
    readonly topbarColor: string
    readonly topbarLabel: string
  }
}

export type Readiness = { readonly ready: boolean; readonly checks: NonNullable<ReadinessAnswer['checks']> }

/** All a route may use. app.ts builds one; nothing else does. */
export type Service = {
  readonly settings: Settings
  readonly names: Names
  readonly cookies: CookieJar
  readonly instance: string
  /** True when no other instance writes to this log, so its head as seen here is its head. */
  readonly alone: boolean
  /** The present as expiries are judged by it, which may be ahead of the clock (ordered-time.ts). */
  readonly now: () => Date
  readonly clock: Clock
  readonly budgets: Budgets
  readonly log: EventLog
  readonly views: Views
  readonly sealer: Sealer
  readonly execute: Execute
  /** Applies events this instance appended to the read models; finds the newest rows of their documents. */
  readonly applied: (events: readonly Stored[]) => Promise<RowOf>
  /** True once every event up to the position is applied here, false when it takes longer than the milliseconds given. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** True once a read model holds every event up to the position, false when it takes longer than the milliseconds given. */
  readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
  /** False while this instance cannot prove that it knows of all revocations. */
  readonly fresh: () => boolean
  readonly verifier: TokenVerifier
  /** How far the stream of a live token is known here, if it is: another instance may have written to it since. */
  readonly tokenStanding: (id: string) => TokenStanding | undefined
  /** The number in the history of the configuration of access that tokens are issued under here, a revision of `access-main`: to be asked for, which is refused with `release_in_progress` while it cannot be told there, and as far as it is known. */
  readonly policy: { readonly number: () => Promise<number>; readonly known: () => number | undefined }
  /** Takes from a login or an exchange what the rules of this instance, if they are later ones, do not give it. */
  readonly narrow: Narrow
  readonly digest: (secret: string) => string
  readonly pageTokens: PageTokens
  readonly refusals: RefusalHistory
  readonly uses: TokenUses
  readonly failures: Limiter
  /** Counts requests by publishable token and client address; undefined: they have no limit. */
  readonly clients: Limiter | undefined
  readonly metrics: Metrics
  readonly flagStore: FlagStore<Compiled>
  /** The documents that cannot be read here. */
  readonly closed: QuarantinedDocuments
  /** What flags, segments and tokens were at a moment; 400 `invalid_at` for one that has not come. `stop` is that of the request. */
  readonly asOf: (moment: Moment, stop: AbortSignal) => Promise<AsOf<Compiled>>
  readonly pastReadings: AsOfReadings
  /** Whose a token is, by a text that all tokens of one holder share. */
  readonly holderOf: (tokenId: string) => Promise<string>
  readonly reservations: Reservations
  readonly methods: Readonly<Record<Method, { readonly enabled: boolean }>> & {
    /** The providers in the order of the configuration, each with the name that people are shown. */
    readonly oidc: { readonly providers: readonly { readonly key: string; readonly name: string | undefined }[] }
    readonly codehost: { readonly display_name: string | undefined }
  }
  readonly logins: Logins
  readonly exchange: Exchange | undefined
  readonly idempotency: Idempotency
  readonly readiness: () => Promise<Readiness>
  /** Tells the operator, at INFO, one line a call. */
  readonly tell: (record: Readonly<Record<string, unknown>>, message: string) => void
  /** Warns the operator: of what is named once a minute at most. */
  readonly warn: (what: string, record: Readonly<Record<string, unknown>>, message: string) => void
  /** Bodies of GET /meta/info and GET /meta/config. */
  readonly about: { readonly info: Info; readonly config: Readonly<Record<string, unknown>> }
}

/** Mounts one route, or all of one file. */
export type Mount = (app: FastifyInstance, service: Service) => void
