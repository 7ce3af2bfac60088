import type { Identity, LoginSecrets } from '../../auth/identity.ts'
import type { LoginCause } from '../../auth/login-causes.ts'
import type { LoginStates, RefusedLogins } from '../../auth/login-state.ts'
import type { Orchestrator } from '../../auth/orchestrator.ts'
import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import type { Limiter } from '../../auth/rate-limit.ts'
import type { LoginKind } from '../../events/login.ts'
import type { Method } from '../../events/token.ts'
import type { CookieJar } from '../wire/cookies.ts'

/** One way to log in through somebody else: an OpenID Connect provider or the code host. */
export type LoginMethod = {
  readonly method: LoginKind
  readonly provider?: string
  /** Path of the redirect address. */
  readonly callbackPath: string
  /** With `anew` the provider asks who it is, whoever is signed in there. */
  readonly begin: (secrets: LoginSecrets, anew?: boolean) => Promise<URL>
  /** Who came back; `onKnown` is told of who it is as soon as that is known, of somebody who is refused too. */
  readonly finish: (
    answer: LoginSecrets & { readonly query: URLSearchParams },
    onKnown: (who: Identity) => void,
  ) => Promise<Identity>
  /** Why the e-mail rule keeps this identity out, if it does. */
  readonly barOf: (attributes: Readonly<Record<string, string>>) => LoginCause | undefined
}

/** What logins need beside the service. */
export type Logins = {
  readonly oidc: ReadonlyMap<string, LoginMethod>
  readonly codehost: LoginMethod | undefined
  readonly states: LoginStates
  readonly refused: RefusedLogins
  readonly pseudonyms: Pseudonyms
  /** Logins that one client begins, and callbacks of none that it began (api.md §2.4). */
  readonly attempts: Limiter
  /** Callbacks of one login, by its id: it was counted when it began. */
  readonly returns: Limiter
  /** Why the e-mail rule of the configuration keeps these attributes of an OpenID Connect token of this provider out, if it does. */
  readonly barOf: (provider: string, attributes: Readonly<Record<string, string>>) => LoginCause | undefined
  /** True when there is such a rule. */
  readonly restricted: boolean
}

/** What exchanges of service-account tokens need beside the service. */
export type Exchange = {
  readonly orchestrator: Orchestrator
  /** Counts failures by client address. */
  readonly failures: Limiter
  /** Counts exchanges by service account; undefined: they have no limit. */
  readonly successes: Limiter | undefined
}

/** Services for logins and exchanges. */
export type LoginServices = {
  readonly methods: Readonly<Record<Method, { readonly enabled: boolean }>> & {
    /** The providers in the order of the configuration, each with its display name. */
    readonly oidc: { readonly providers: readonly { readonly key: string; readonly name: string | undefined }[] }
    readonly codehost: { readonly display_name: string | undefined }
  }
  readonly logins: Logins
  readonly exchange: Exchange | undefined
  readonly cookies: CookieJar
}
