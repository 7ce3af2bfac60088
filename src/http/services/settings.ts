import type { AccessPolicy } from '../../access/rules.ts'

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
