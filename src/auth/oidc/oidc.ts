import { buildAuthorizationUrl, calculatePKCECodeChallenge, None } from 'openid-client'
import type { Claims } from '../../access/claims.ts'
import { cached } from '../cached.ts'
import { type Identity, type LoginSecrets, oidcIdentity, text } from '../identity.ts'
import { providerFetch } from '../outgoing/provider-fetch.ts'
import { answered, codeOf, given, redirectUriOf, refuseCallback } from './callback.ts'
import {
  algorithmsOf,
  authentications,
  clientAt,
  DOCUMENT_LIFE_MS,
  isUnprovable,
  type Known,
  known,
  movedTo,
  type OidcSettings,
} from './discovery.ts'
import { askingOf, furtherParameters } from './further-parameters.ts'
import { type LogoutToken, logoutTokens } from './logout-token.ts'
import { type LogoutRequest, logoutUrlOf } from './logout-url.ts'
import { exchangeCode, type Tokens } from './token-endpoint.ts'
import { readUserinfo, withUserinfo } from './userinfo.ts'

/** Minimum time in ms between two repeated reads of a provider's document. */
const PAUSE_MS = 60_000

type OidcProvider = {
  /**
   * Returns the URL to redirect the browser to. With `forceLogin` the provider asks for the account even if a session exists
   * there. Refuses with `provider_unavailable`.
   */
  readonly begin: (secrets: LoginSecrets, forceLogin?: boolean) => Promise<URL>
  /**
   * Returns the identity of the person. Refuses as listed in api.md §5.5, from `iss` on. The caller checks the login
   * itself (state, age, single use).
   */
  readonly finish: (answer: LoginSecrets & { readonly query: URLSearchParams }) => Promise<Identity>
  /**
   * Returns the URL to which the browser is redirected to end the session at the provider (RP-Initiated Logout 1.0 §2);
   * undefined if the discovery document has no usable `end_session_endpoint`. Refuses with `provider_unavailable`.
   */
  readonly logoutUrl: (request: LogoutRequest) => Promise<URL | undefined>
  /** Verifies a logout token of the provider. Refuses with `logout_token_invalid`. */
  readonly readLogoutToken: (token: string) => Promise<LogoutToken>
}

/**
 * Login with one OpenID Connect provider (api.md §5.5). Discovery happens at the first login. The document is cached
 * for an hour and read again if a login fails at the provider's end, because the endpoints may have changed.
 */
export const oidcProvider = (settings: OidcSettings): OidcProvider => {
  const { issuerUrl } = settings
  const maxAge = settings.parameters['max_age']
  const { now } = settings.clock
  const redirectUri = redirectUriOf(settings)
  const call = providerFetch(settings)
  const configuration = clientAt(settings)
  const scope = [...new Set(['openid', ...settings.scopes])].join(' ')
  const endpoints = settings.claims === 'userinfo' ? ['userinfo_endpoint'] : []
  const provider = cached(() => known(settings, call, endpoints), { life: DOCUMENT_LIFE_MS, pause: PAUSE_MS, now })

  /** Reads the signing keys of the provider again. Called when none of the cached keys fits the token. */
  const newKeys = async () => (await provider.again()).keys.get()

  const exchange = async (
    { metadata, keys }: Known,
    code: string,
    { state, nonce, codeVerifier }: LoginSecrets,
  ): Promise<Tokens> =>
    exchangeCode({
      callback: 'oidc',
      call,
      configuration: configuration(metadata, await keys.get()),
      authentications: authentications(metadata, settings),
      isUnprovable: isUnprovable(metadata),
      url: answered(redirectUri, { code, state, iss: metadata.issuer }),
      checks: {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
        ...(maxAge !== undefined && { maxAge: Number(maxAge) }),
      },
      idToken: { keys: newKeys, algorithms: algorithmsOf(metadata.id_token_signing_alg_values_supported) },
    })

  const userinfo = async ({ access_token: accessToken }: Tokens, sub: string) => {
    const read = async (known: Known) => {
      const config = configuration(known.metadata, await known.keys.get())(None())
      return readUserinfo({ call, known, config, keys: newKeys, accessToken, sub })
    }
    const held = await provider.get()
    return read(held).catch(async (error: unknown) => read(await movedTo(held, error, provider.again)))
  }

  return {
    begin: async ({ state, nonce, codeVerifier }, forceLogin = false) => {
      const { metadata } = await provider.get()
      return buildAuthorizationUrl(configuration(metadata)(None()), {
        ...furtherParameters(settings.parameters, forceLogin, askingOf(metadata)),
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
    },

    finish: async ({ query, ...secrets }) => {
      const code = codeOf('oidc', query, issuerUrl)
      const held = await provider.get()
      const { issuer } = held.metadata
      if ((given(query, 'iss') ?? issuer) !== issuer) refuseCallback('oidc', 'issuer_mismatch')
      const tokens = await exchange(held, code, secrets).catch(async (error: unknown) =>
        exchange(await movedTo(held, error, provider.again), code, secrets),
      )
      const idToken: Claims = tokens.claims() ?? {}
      const userinfoClaims = settings.claims === 'userinfo' ? await userinfo(tokens, text(idToken['sub']) ?? '') : {}
      const identity = oidcIdentity(settings, issuer, withUserinfo(idToken, userinfoClaims))
      return settings.keepIdToken ? { ...identity, idToken: tokens.id_token! } : identity
    },

    logoutUrl: async (request) => logoutUrlOf(settings, (await provider.get()).metadata, request),
    readLogoutToken: logoutTokens(provider, settings),
  }
}
