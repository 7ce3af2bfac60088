import {
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  fetchUserInfo,
  None,
} from 'openid-client'
import type { Claims } from '../../access/claims.ts'
import { Refusal } from '../../base/errors.ts'
import { cached } from '../cached.ts'
import { type Identity, isObject, type LoginSecrets, objectIn, oidcIdentity, text } from '../identity.ts'
import {
  type ProviderFetch,
  type ProviderStep,
  placeOf,
  providerFetch,
  refusedBy,
  unusable,
} from '../outgoing/provider-fetch.ts'
import { safeCause } from '../safe-cause.ts'
import { answered, codeOf, given, redirectUriOf, refuseCallback, tooMuchTold } from './callback.ts'
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
import { type LogoutRequest, type LogoutToken, logoutTokens, logoutUrlOf } from './logout.ts'
import { exchangeCode, type Tokens } from './token-endpoint.ts'

/** Claims about the login, not the person. These claims are taken from the ID token only. */
const OF_THE_LOGIN: ReadonlySet<string> = new Set(
  'iss sub aud exp iat nbf jti nonce azp sid auth_time acr amr at_hash c_hash s_hash'.split(' '),
)
const ADDRESS = ['email', 'email_verified'] as const
const REFERENCES = '_claim_names'

const STEP = 'userinfo'

const unfit = (what: string): never => refuseCallback('oidc', 'userinfo_unfit', { what })

/** Returns the answer in a form that the library reads. Refuses error statuses, encrypted answers and non-JSON. */
const readable = async (answer: Response, place: ProviderStep): Promise<Response> => {
  const { status, headers } = answer
  if (status === 401 || status === 403)
    return unfit(`${place.step} at ${place.host} refused the access token with status ${status}`)
  if (status !== 200) return refusedBy(place, status)
  const type = headers.get('content-type') ?? ''
  const text = await answer.text()
  if (/^application\/jwt\b/i.test(type)) {
    if (text.split('.').length === 5) return unfit('it is encrypted')
    return new Response(text, { headers: { 'content-type': 'application/jwt' } })
  }
  const content = objectIn(text)
  return content ? Response.json(content) : unusable(place, 'answer is not a JSON object')
}

type UserinfoRequest = {
  readonly call: ProviderFetch
  readonly known: Known
  /** Configuration without client authentication: the access token authenticates the request. */
  readonly config: Configuration
  /** Reads the signing keys of the provider again. Called when none of the cached keys fits the signature. */
  readonly keys: () => Promise<object>
  readonly accessToken: string
  readonly sub: string
}

/**
 * Reads the claims of the person from the userinfo endpoint (OpenID Connect Core §5.3). The answer of the endpoint must
 * be about the person `sub`. If the answer is signed, its signature must be valid. Failures are refused with
 * `userinfo_invalid`, `identity_too_large` or `provider_unavailable`.
 */
const readUserinfo = async ({ call, known, config, keys, accessToken, sub }: UserinfoRequest): Promise<Claims> => {
  const place = placeOf(STEP, known.metadata.userinfo_endpoint!)
  const seen = { answer: false }
  config[customFetch] = async (address, { method, headers }) => {
    if (address === known.metadata.jwks_uri) return Response.json(await keys())
    const answer = await call(STEP, address, { method, headers }, () => tooMuchTold('oidc', place))
    const good = await readable(answer, place)
    seen.answer = true
    return good
  }
  try {
    return await fetchUserInfo(config, accessToken, sub)
  } catch (error) {
    const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown }
    if (!seen.answer || error instanceof Refusal || cause instanceof Refusal) return unusable(place, error)
    const isOfOther = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'
    return unfit(isOfOther ? 'it is about another person than the ID token (sub)' : safeCause(error).message)
  }
}

/**
 * Merges the claims of the ID token and of userinfo. Userinfo takes precedence for claims about the person. `email` and
 * `email_verified` come from the same source, and a claim that is present loses its reference in `_claim_names`.
 */
export const withUserinfo = (idToken: Claims, userinfo: Claims): Claims => {
  const claims = Object.fromEntries(Object.entries(userinfo).filter(([name]) => !OF_THE_LOGIN.has(name)))
  const tells = (name: string) => Object.hasOwn(claims, name)
  const replaced: ReadonlySet<string> = new Set(ADDRESS.some(tells) ? ADDRESS : [])
  const before = Object.fromEntries(Object.entries(idToken).filter(([name]) => !replaced.has(name)))
  const references = before[REFERENCES]
  if (!isObject(references) || tells(REFERENCES)) return { ...before, ...claims }
  const left = Object.entries(references).filter(([name]) => !tells(name))
  return { ...before, ...claims, [REFERENCES]: Object.fromEntries(left) }
}

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
