import {
  allowInsecureRequests,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  None,
} from 'openid-client'
import { type Identity, keptOf, type LoginSecrets, text } from '../identity.ts'
import { answered, type CallbackPlace, codeOf, redirectUriOf } from '../oidc/callback.ts'
import { furtherParameters } from '../oidc/further-parameters.ts'
import { exchangeCode } from '../oidc/token-endpoint.ts'
import { type Asking, providerFetch } from '../outgoing/provider-fetch.ts'
import { codehostApi } from './api.ts'
import { type CodehostKind, type CodehostKindName, codehostKinds } from './kinds.ts'
import { admit, type Memberships, type Named, onlyNamed, type Restrictions } from './membership.ts'

export type CodehostSettings = Restrictions &
  Asking &
  CallbackPlace & {
    readonly kind: CodehostKindName
    readonly serverUrl: string
    readonly apiUrl: string
    readonly clientId: string
    readonly clientSecret: string
    /**
     * Organizations and teams are read only with the kind's membership scope. If the scope is missing, a restriction
     * admits no login.
     */
    readonly scopes: readonly string[]
    /** Further parameters of the authorization request. */
    readonly parameters: Readonly<Record<string, string>>
    /**
     * Organizations and teams that rules name. Organizations and teams named by rules are stored even if the
     * restrictions would drop them.
     */
    readonly named?: Named
  }

type Secrets = Omit<LoginSecrets, 'nonce'>

type Codehost = {
  /** Returns the URL to redirect the browser to. */
  readonly begin: (secrets: Secrets, forceLogin?: boolean) => Promise<URL>
  /**
   * Returns the identity of the person, with `barred` if the memberships do not satisfy the restrictions. Refuses as
   * listed in api.md §5.6, from the provider's `error` on.
   */
  readonly finish: (answer: Secrets & { readonly query: URLSearchParams }) => Promise<Identity>
}

/** Login with a code host by OAuth 2.0 (api.md §5.6). */
export const codehost = (settings: CodehostSettings): Codehost => {
  const { clientId, clientSecret, scopes } = settings
  const kind = codehostKinds[settings.kind]
  const [server, api] = [settings.serverUrl, settings.apiUrl].map((url) => url.replace(/\/+$/, '')) as [string, string]
  const redirectUri = redirectUriOf(settings)
  const call = providerFetch(settings)

  const configuration = (authentication: ClientAuth) => {
    const endpoints = {
      issuer: server,
      authorization_endpoint: `${server}${kind.authorizePath}`,
      token_endpoint: `${server}${kind.tokenPath}`,
    }
    const config = new Configuration(endpoints, clientId, undefined, authentication)
    // The library's https check is off because `outgoing.http_hosts` decides about plain http.
    allowInsecureRequests(config)
    return config
  }

  return {
    begin: async ({ state, codeVerifier }, forceLogin = false) =>
      buildAuthorizationUrl(configuration(None()), {
        // A host that does not support `prompt` ignores it (RFC 6749 §3.1).
        ...furtherParameters(settings.parameters, forceLogin, kind.asking),
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      }),

    finish: async ({ query, state, codeVerifier }) => {
      const code = codeOf('codehost', query)
      const tokens = await exchangeCode({
        callback: 'codehost',
        call,
        configuration,
        authentications: [ClientSecretPost(clientSecret)],
        url: answered(redirectUri, { code, state }),
        checks: { expectedState: state, pkceCodeVerifier: codeVerifier },
      })
      const asClient = () => configuration(None())
      const host = codehostApi({ kind, api, call, configuration: asClient, accessToken: tokens.access_token })
      const user = await host.user()
      const profileEmail = text(user['email']) || undefined
      const asksAddress = profileEmail === undefined && kind.addressScopes.some((scope) => scopes.includes(scope))
      const person = { issuer: server, kind, user, email: asksAddress ? await host.address() : profileEmail }
      const readsMemberships = scopes.includes(kind.membershipScope)
      const { more, ...known } = readsMemberships ? await host.memberships() : NOTHING
      const { barred, ...kept } = admit(known, settings, settings.named)
      const forms = readsMemberships ? [kept, onlyNamed(kept, settings, settings.named)] : [{}]
      return { ...identity(person, forms, more), ...(barred && { barred }) }
    },
  }
}

const NOTHING = { organizations: [], teams: {}, more: false }

type Who = {
  readonly issuer: string
  readonly kind: CodehostKind
  readonly user: Readonly<Record<string, unknown>>
  readonly email: string | undefined
}

/**
 * Builds the identity with the first list of memberships that fits into the size limit. `more`: the code host has
 * further memberships.
 */
const identity = (
  { issuer, kind, user, email }: Who,
  memberships: readonly Partial<Memberships>[],
  more: boolean,
): Identity => {
  const sub = String(user['id'])
  const [login, name, picture] = [kind.loginOf(user), kind.nameOf(user), user['avatar_url']].map(
    (field) => text(field) || undefined,
  )
  const forms = memberships.map(({ organizations, teams }) => ({
    'codehost.email': email,
    'codehost.name': name,
    'codehost.picture': picture,
    'codehost.sub': sub,
    'codehost.preferred_username': login,
    'codehost.organizations': organizations && JSON.stringify(organizations),
    'codehost.teams': teams && JSON.stringify(teams),
    email,
    name,
    picture,
  }))
  return {
    subject: { issuer, sub },
    ...keptOf('codehost', forms),
    ...(more && { reduced: true }),
    ...(email === undefined ? {} : { email }),
  }
}
