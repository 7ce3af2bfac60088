import type { AccessPolicy } from '../../access/rules.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { Info, Readiness as ReadinessAnswer } from '../../contract/operations.ts'
import type { Budgets } from '../wire/room.ts'

/** Settings that routes read. */
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

type Readiness = { readonly ready: boolean; readonly checks: NonNullable<ReadinessAnswer['checks']> }

/** Facts about this instance and its limits. */
export type InstanceServices = {
  readonly settings: Settings
  /** Words that the deployment chose for paths, cookies, headers and metrics. */
  readonly names: Names
  readonly budgets: Budgets
  readonly readiness: () => Promise<Readiness>
  /** Bodies of GET /meta/info and GET /meta/config. */
  readonly about: { readonly info: Info; readonly config: Readonly<Record<string, unknown>> }
}
