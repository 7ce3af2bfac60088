import type { Rule } from '../../access/rules.ts'
import { claimsIn, emailRule } from '../../auth/identity.ts'
import { redirectUriOf } from '../../auth/oidc/callback.ts'
import { plainHttp, proxyFor } from '../../auth/outgoing/hosts.ts'
import type { Reach } from '../../auth/outgoing/outgoing.ts'
import { pseudonyms } from '../../auth/pseudonyms.ts'
import { keptIdTokens, loginStates, logoutStates, refusedLogins } from '../../auth/sealed.ts'
import type { Orchestrator } from '../../auth/service-accounts/orchestrator.ts'
import type { Clock } from '../../base/clock.ts'
import type { Tracer } from '../../base/tracing.ts'
import { version } from '../../base/version.ts'
import { accessPolicy } from '../../config/checks/access-rules.ts'
import type { Config } from '../../config/load.ts'
import type { Names } from '../../contract/identifiers.ts'
import type { LoginMethod, Logins } from '../../http/services/logins.ts'
import type { Stores } from '../stores/stores.ts'
import type { OutageLog } from '../telemetry/outage-log.ts'

type Own = { readonly ca_path?: string | undefined; readonly proxy?: string | undefined }

/** Connection settings of a provider, the code host or the cluster: its own, and the shared ones. */
export const reachOf = (
  { outgoing: { https_proxy: https, http_proxy: http, no_proxy: except, http_hosts } }: Config,
  { ca_path, proxy }: Own,
  tracer?: Tracer,
): Reach => ({
  tracer,
  caPath: ca_path,
  proxyOf: proxyFor({ own: proxy, https, http, except }),
  mayBeHttp: plainHttp(http_hosts),
})

/** Maximum callbacks of one login per minute. */
const RETURNS_A_MINUTE = 5
/** User agent of requests to providers, clusters and witnesses. */
export const USER_AGENT = `rollcall/${version}`
const pathOf = (address: string, path: string) => new URL(address).pathname.replace(/\/+$/, '') + path

type Calling = { readonly faults: OutageLog; readonly clock: Clock; readonly tracer: Tracer | undefined }

const oidcMethods = async (
  config: Config,
  rules: readonly Rule[],
  barOf: Logins['barOf'],
  { faults, clock, tracer }: Calling,
) => {
  const loginMethods = new Map<string, LoginMethod>()
  const { enabled, providers } = config.authentication.methods.oidc
  if (!enabled) return loginMethods
  const { oidcProvider } = await import('../../auth/oidc/oidc.ts')
  for (const [name, { issuer_url, redirect_address, ...given }] of providers) {
    const base = `/auth/v1/method/oidc/${name}`
    const path = `${base}/callback`
    const settings = {
      name,
      ...reachOf(config, given, tracer),
      issuerUrl: issuer_url,
      discoveryUrl: given.discovery_url,
      clientId: given.client_id,
      clientSecret: given.client_secret,
      clientAuthentication: given.client_authentication,
      clockTolerance: given.clock_tolerance,
      scopes: given.scopes,
      claims: given.claims,
      parameters: given.authorize_parameters,
      keepIdToken: given.keep_id_token,
      asked: rules.filter((rule) => rule.method === 'oidc').filter(({ provider }) => provider === name),
      redirectAddress: redirect_address!,
      callbackPath: path,
      clock,
      userAgent: USER_AGENT,
    }
    const { logoutUrl, ...provider } = faults.instrument('provider', `oidc ${name}`, oidcProvider(settings))
    const returnTo = redirectUriOf({ redirectAddress: redirect_address!, callbackPath: `${base}/post-logout` })
    loginMethods.set(name, {
      method: 'oidc',
      provider: name,
      callbackPath: pathOf(redirect_address!, path),
      ...provider,
      barOf: (attributes) => barOf(name, attributes),
      ...(given.logout === 'provider' && {
        logout: {
          returnTo,
          returnPath: new URL(returnTo).pathname,
          url: logoutUrl,
          keepsIdToken: given.keep_id_token,
        },
      }),
    })
  }
  return loginMethods
}

const namedIn = (rules: readonly Rule[]) => {
  const ours = rules.filter((rule) => rule.method === 'codehost')
  return { organizations: ours.flatMap((rule) => rule.organizations), teams: ours.flatMap((rule) => rule.teams) }
}

const codehostMethod = async (
  config: Config,
  rules: readonly Rule[],
  names: Names,
  { faults, clock, tracer }: Calling,
): Promise<LoginMethod | undefined> => {
  const settings = config.authentication.methods.codehost
  if (!settings.enabled) return undefined
  const { codehost } = await import('../../auth/codehost/codehost.ts')
  const path = `/auth/v1/method/${names.codehostPath}/callback`
  const provider = codehost({
    ...reachOf(config, settings, tracer),
    clock,
    userAgent: USER_AGENT,
    kind: settings.kind,
    serverUrl: settings.server_url!,
    apiUrl: settings.api_url!,
    clientId: settings.client_id!,
    clientSecret: settings.client_secret!,
    redirectAddress: settings.redirect_address!,
    callbackPath: path,
    scopes: settings.scopes,
    parameters: settings.authorize_parameters,
    allowedOrganizations: settings.allowed_organizations,
    allowedTeams: settings.allowed_teams,
    named: namedIn(rules),
  })
  return {
    method: 'codehost',
    callbackPath: pathOf(settings.redirect_address!, path),
    ...faults.instrument('provider', 'codehost', provider),
    barOf: () => undefined,
  }
}

/**
 * Creates the configured login methods, and loads only their libraries. `erased` are the subjects whose erasure was
 * requested.
 */
export const loginMethods = async (
  config: Config,
  names: Names,
  { pepper: { key: pepper }, limiter }: Pick<Stores, 'pepper' | 'limiter'>,
  calling: Calling,
  erased?: ReadonlySet<string>,
): Promise<Omit<Logins, 'methods' | 'reported'>> => {
  const { rate_limit } = config
  const { methods } = config.authentication
  const restricted = methods.oidc.email_matches.length > 0
  const matches = restricted && (await import('../../config/email.ts')).emailMatcher(methods.oidc.email_matches)
  // The claims are used in the form in which rules see them. The attribute of an earlier version has only some of these claims.
  const barOf: Logins['barOf'] = (provider, attributes) =>
    matches
      ? emailRule(matches, claimsIn(attributes), methods.oidc.providers.get(provider)?.assume_email_verified)
      : undefined
  const { rules } = accessPolicy(config)
  return {
    oidc: await oidcMethods(config, rules, barOf, calling),
    codehost: await codehostMethod(config, rules, names, calling),
    states: loginStates(pepper),
    refused: refusedLogins(pepper),
    logouts: logoutStates(pepper),
    idTokens: keptIdTokens(pepper),
    pseudonyms: pseudonyms(pepper, erased),
    attempts: limiter('logins', rate_limit.logins),
    returns: limiter('returns', RETURNS_A_MINUTE),
    barOf,
    restricted,
  }
}

/** Creates the exchange of service-account tokens if enabled. Fails if a certificate authority cannot be read. */
export const exchangeOf = async (
  config: Config,
  faults: OutageLog,
  clock: Clock,
  tracer: Tracer | undefined,
): Promise<Orchestrator | undefined> => {
  const { orchestrator: settings } = config.authentication.methods
  const { verification, audiences, issuers, allowed } = settings
  if (!settings.enabled) return undefined
  const { orchestrator } = await import('../../auth/service-accounts/orchestrator.ts')
  const made = await orchestrator({
    verification,
    audiences,
    issuers,
    maxLifetime: settings.max_lifetime,
    userAgent: USER_AGENT,
    allowed: allowed.map(({ namespace, service_accounts }) => ({ namespace, serviceAccounts: service_accounts })),
    ...reachOf(config, settings, tracer),
    discoveryUrl: settings.discovery_url,
    tokenPath: settings.service_account_token_path,
    clock,
  })
  return faults.instrument('cluster', 'orchestrator', made)
}
