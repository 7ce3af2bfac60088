import type { TokenSecrets } from '../../auth/client-token.ts'
import type { Identity, LoginSecrets } from '../../auth/identity.ts'
import type { LogoutRequest, LogoutToken } from '../../auth/oidc/logout.ts'
import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import type { KeptIdTokens, LoginStates, LogoutStates, RefusedLogins } from '../../auth/sealed.ts'
import type { Orchestrator } from '../../auth/service-accounts/orchestrator.ts'
import type { FairGate } from '../../base/gate.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import type { LoginKind } from '../../events/login.ts'
import type { Method } from '../../events/token.ts'
import type { RefusalHistory } from '../../jobs/refusals.ts'
import type { ProviderLogouts } from '../login/provider-logouts.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Idempotency } from '../steps/idempotency.ts'
import type { CookieJar } from '../wire/cookies.ts'
import type { AuthServices, Narrow } from './auth.ts'
import type { CommandServices, Mount } from './commands.ts'

/** A login method with an external provider: an OpenID Connect provider or the code host. */
export type LoginMethod = {
  readonly method: LoginKind
  readonly provider?: string
  /** Path of the redirect address. */
  readonly callbackPath: string
  /**
   * Returns the authorization URL. With `forceLogin`, the provider asks for a login even if the browser has a session there.
   */
  readonly begin: (secrets: LoginSecrets, forceLogin?: boolean) => Promise<URL>
  /** Returns the identity of a callback. `barred` is set if the method's restrictions exclude it. */
  readonly finish: (answer: LoginSecrets & { readonly query: URLSearchParams }) => Promise<Identity>
  /** Verifies a logout token of the provider. Absent for the code host. */
  readonly readLogoutToken?: (token: string) => Promise<LogoutToken>
  /** Reason for which the e-mail rule refuses this identity, if any. */
  readonly barOf: (attributes: Readonly<Record<string, string>>) => LoginCause | undefined
  /** Sign-out at the provider; absent if a sign-out ends only the session of this service. */
  readonly logout?: ProviderLogout
}

type ProviderLogout = {
  /** Address to which the provider redirects the browser, and its path. */
  readonly returnTo: string
  readonly returnPath: string
  /** Returns the address that ends the session at the provider; undefined if the provider has none that can be used. */
  readonly url: (request: LogoutRequest) => Promise<URL | undefined>
  /** True if the browser keeps the ID token until sign-out. */
  readonly keepsIdToken: boolean
}

/** Dependencies of logins. */
export type Logins = {
  readonly oidc: ReadonlyMap<string, LoginMethod>
  readonly codehost: LoginMethod | undefined
  readonly states: LoginStates
  readonly refused: RefusedLogins
  readonly logouts: LogoutStates
  readonly idTokens: KeptIdTokens
  readonly pseudonyms: Pseudonyms
  /** Counts begun logins by client address, and callbacks without a pending login (api.md §2.4). */
  readonly attempts: Limiter
  /** Counts callbacks of a pending login, by the id of the login. */
  readonly returns: Limiter
  /**
   * Reason for which the current e-mail rule refuses a token with these attributes of an OpenID Connect provider, if
   * any.
   */
  readonly barOf: (provider: string, attributes: Readonly<Record<string, string>>) => LoginCause | undefined
  /** True if there is an e-mail rule. */
  readonly restricted: boolean
  readonly methods: Readonly<Record<Method, { readonly enabled: boolean }>> & {
    /** The providers in the order of the configuration, each with its display name. */
    readonly oidc: { readonly providers: readonly { readonly key: string; readonly name: string | undefined }[] }
    readonly codehost: { readonly display_name: string | undefined }
  }
  readonly reported: ReportedLogouts
}

/** Dependencies of the exchange of service-account tokens. */
export type Exchange = Idempotency & {
  readonly orchestrator: Orchestrator
  /** Counts failures by client address. */
  readonly failures: Limiter
  /** Counts exchanges by service account; undefined: no limit. */
  readonly successes: Limiter | undefined
}

/** Dependencies of logouts that a provider reports. */
export type ReportedLogouts = ProviderLogouts & {
  /** Counts refused logout tokens by client address. */
  readonly failures: Limiter
  /** Runs the work of a logout token in turn with those of other client addresses. Refuses with `busy`. */
  readonly gate: FairGate
}

/** Services of logins, exchanges and sessions. */
export type LoginServices = Pick<AuthServices, 'fresh' | 'verifier'> & {
  readonly logins: Logins
  readonly secrets: TokenSecrets
  readonly cookies: CookieJar
  /**
   * Number of the access configuration under which this instance issues tokens: a revision of `access-main`. `number`
   * records the configuration first, and is refused with `release_in_progress` while it cannot. `known` is undefined
   * until it is recorded.
   */
  readonly policy: {
    readonly number: () => Promise<number>
    readonly known: () => number | undefined
    readonly narrow: Narrow
  }
  readonly metrics: Metrics
  readonly refusals: RefusalHistory
  readonly lines: Lines
}

/** Lines in the log of the service. */
type Lines = {
  /** Logs at INFO. */
  readonly tell: (record: Readonly<Record<string, unknown>>, message: string) => void
  /** Logs at WARN, at most once a minute for each `what`. */
  readonly warn: (what: string, record: Readonly<Record<string, unknown>>, message: string) => void
}

export type LoginService = CommandServices & LoginServices
export type LoginMount = Mount<LoginService>
