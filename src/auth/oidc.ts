import {
  allowInsecureRequests,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  Configuration,
  enableNonRepudiationChecks,
  None,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client'
import type { Asked } from '../access/claims-kept.ts'
import type { Clock } from '../clock.ts'
import { codeOf, given, refuseCallback } from './callback.ts'
import type { Identity, LoginSecrets } from './identity.ts'
import { providerFetch } from './provider-fetch.ts'
import { answered, redirectUriOf } from './redirect.ts'
import { cached } from './cached.ts'
import { algorithmsOf, DOCUMENT_LIFE_MS, movedTo, type Known, known } from './oidc-discovery.ts'
import { oidcIdentity } from './oidc-identity.ts'
import { exchangeCode, type Tokens } from './token-endpoint.ts'

/** So often at most a provider is asked whether it has moved. */
const PAUSE_MS = 60_000
/** openid-client asks for keys again only when those it was given are as old as this. */
const KEYS_OLD_S = 60

export type OidcSettings = {
  readonly name: string
  readonly issuerUrl: string
  readonly clientId: string
  /** Absent where our client has none: `clientAuthentication` is `none`. */
  readonly clientSecret?: string | undefined
  /** How our client proves itself; absent: by what discovery names, first in the header. */
  readonly clientAuthentication?: 'basic' | 'post' | 'none' | undefined
  /** Milliseconds that clocks may disagree by. */
  readonly clockTolerance: number
  /** External base address; with `callbackPath` behind it, the redirect URI. Never taken from a request. */
  readonly redirectAddress: string
  readonly callbackPath: string
  readonly scopes: readonly string[]
  /** What rules ask of the claims: of an identity that is larger than what is kept of one, this is. */
  readonly asked: readonly Asked[]
  readonly clock: Clock
  /** Who asks, for the provider's own log. */
  readonly userAgent: string
}

export type OidcProvider = {
  /** Where to send the browser; with `anew` the provider asks who it is, whoever is signed in there. Refuses with `provider_unavailable`. */
  readonly begin: (secrets: LoginSecrets, anew?: boolean) => Promise<URL>
  /** Who came back. Refuses as the table of api.md §5.5 says, from `iss` on; what concerns the login itself (state, age, single use) is the caller's. */
  readonly finish: (answer: LoginSecrets & { readonly query: URLSearchParams }) => Promise<Identity>
}

/**
 * One OpenID Connect provider (api.md §5.5). Discovery happens at the first login. The document is held for an hour, and
 * read again where a login fails at the provider's end: it may have moved.
 */
export const oidcProvider = (settings: OidcSettings): OidcProvider => {
  const { issuerUrl, clientId, clock, userAgent } = settings
  const { now } = clock
  const redirectUri = redirectUriOf(settings)
  const call = providerFetch(clock, userAgent)
  const scope = [...new Set(['openid', ...settings.scopes])].join(' ')
  const provider = cached(() => known(issuerUrl, clientId, call, now), { life: DOCUMENT_LIFE_MS, pause: PAUSE_MS, now })

  const configuration = (metadata: ServerMetadata) => (authentication: ClientAuth) => {
    // The library reads the clock of the machine by itself: it is told how far ours is from that.
    const skew = Math.round((now().getTime() - Date.now()) / 1000)
    const server = { ...metadata, id_token_signing_alg_values_supported: algorithmsOf(metadata) }
    const config = new Configuration(
      server,
      clientId,
      { [clockSkew]: skew, [clockTolerance]: Math.round(settings.clockTolerance / 1000) },
      authentication,
    )
    if (issuerUrl.startsWith('http:')) allowInsecureRequests(config)
    // Without it a signature is not looked at: the library trusts the connection.
    enableNonRepudiationChecks(config)
    return config
  }

  const exchange = async (
    { metadata, keys }: Known,
    code: string,
    { state, nonce, codeVerifier }: LoginSecrets,
  ): Promise<Tokens> => {
    const held = await keys.get()
    return exchangeCode({
      callback: 'oidc',
      call,
      configuration: (authentication) => {
        const config = configuration(metadata)(authentication)
        // How old keys are, it judges by the clock of the machine too.
        setJwksCache(config, { jwks: { keys: [...held.keys] }, uat: Math.floor(Date.now() / 1000) - KEYS_OLD_S })
        return config
      },
      authentications: authentications(metadata, settings),
      url: answered(redirectUri, { code, state, iss: metadata.issuer }),
      checks: { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true },
      // Asked for when none of those that are held fits.
      keys: async () => (await provider.again()).keys.get(),
    })
  }

  return {
    begin: async ({ state, nonce, codeVerifier }, anew = false) =>
      buildAuthorizationUrl(configuration((await provider.get()).metadata)(None()), {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        ...(anew && { prompt: 'login' }),
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      }),

    finish: async ({ query, ...secrets }) => {
      const code = codeOf('oidc', query, issuerUrl)
      const held = await provider.get()
      const { issuer } = held.metadata
      if ((given(query, 'iss') ?? issuer) !== issuer) refuseCallback('oidc', 'issuer_mismatch')
      const tokens = await exchange(held, code, secrets).catch(async (error: unknown) =>
        exchange(await movedTo(held, error, provider.again), code, secrets),
      )
      return oidcIdentity(settings, issuer, tokens.claims() ?? {})
    },
  }
}

const authentications = (
  { token_endpoint_auth_methods_supported: listed }: ServerMetadata,
  { clientSecret: secret, clientAuthentication }: OidcSettings,
): readonly ClientAuth[] => {
  if (secret === undefined || clientAuthentication === 'none') return [None()]
  if (clientAuthentication === 'basic') return [ClientSecretBasic(secret)]
  if (clientAuthentication === 'post') return [ClientSecretPost(secret)]
  const ways = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return Array.isArray(listed) && listed.includes('client_secret_post') && !listed.includes('client_secret_basic')
    ? ways.reverse()
    : ways
}
