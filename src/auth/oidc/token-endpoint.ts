import {
  type AuthorizationCodeGrantChecks,
  authorizationCodeGrant,
  type ClientAuth,
  type Configuration,
  type CustomFetchOptions,
  customFetch,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client'
import { Refusal } from '../../base/errors.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import type { LoginKind } from '../../events/login.ts'
import { isObject, objectOfPart } from '../identity.ts'
import { type ProviderFetch, type ProviderStep, placeOf, refusedBy, unusable } from '../outgoing/provider-fetch.ts'
import { type Gaps, refusalFor } from '../refusal-details.ts'
import { codesOf, providerSays } from '../safe-cause.ts'
import { refuseCallback, tooMuchTold } from './callback.ts'

/** Error codes about the code or its user. */
const ABOUT_THE_CODE: ReadonlySet<unknown> = new Set([
  'invalid_grant',
  'invalid_request',
  'access_denied',
  'bad_verification_code',
])
/** Error codes about the client, whatever the status. The last code is GitHub's. */
const ABOUT_OUR_CLIENT: ReadonlySet<unknown> = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
])
const TOKEN_TYPES: ReadonlySet<unknown> = new Set(['bearer', 'dpop'])
const STEP = 'token endpoint'
const UNPROVABLE = ', and the provider supports no client authentication method that Rollcall supports'

type Exchange = {
  readonly callback: LoginKind
  readonly call: ProviderFetch
  readonly configuration: (authentication: ClientAuth) => Configuration
  /** Client authentication methods. The next method is tried if the provider answers `invalid_client`. */
  readonly authentications: readonly ClientAuth[]
  /** True if the provider lists client authentication methods and none of them is supported. */
  readonly isUnprovable?: boolean
  readonly url: URL
  readonly checks: AuthorizationCodeGrantChecks
  /** The provider's key set and algorithms, if the ID token must be verified. */
  readonly idToken?: { readonly keys: () => Promise<object>; readonly algorithms: readonly string[] }
}

export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers

/** Exchanges a code for verified tokens. Failures are refused as listed in api.md §5.5. */
export const exchangeCode = async (exchange: Exchange): Promise<Tokens> => {
  const { authentications } = exchange
  for (const authentication of authentications.slice(0, -1)) {
    const tokens = await attempt(exchange, authentication, true)
    if (tokens) return tokens
  }
  return (await attempt(exchange, authentications.at(-1)!, false))!
}

type TokenRequest = Pick<CustomFetchOptions, 'headers'> & Partial<Pick<CustomFetchOptions, 'body'>>

const ofForm = (text: string): string => new URLSearchParams(`it=${text}`).get('it') ?? ''

/** Secrets in the request that must not be logged: the code, the code verifier and the client credentials. */
const secretsOf = ({ headers, body }: TokenRequest): readonly string[] => {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams(typeof body === 'string' ? body : '')
  const sent = ['code', 'code_verifier', 'client_id', 'client_secret'].map((name) => form.get(name) ?? '')
  const [, basic = ''] = /^Basic (.*)$/.exec(headers['authorization'] ?? '') ?? []
  const proof = Buffer.from(basic, 'base64').toString().split(':')
  return [...sent, ...proof, ...proof.map(ofForm)]
}

/** Refuses because of an error answer of the token endpoint: about the client, about the code, or unspecific. */
const refused = (
  { callback, isUnprovable = false }: Exchange,
  place: ProviderStep,
  status: number,
  { error, error_description }: Readonly<Record<string, unknown>>,
  request: TokenRequest,
): never => {
  const extras = { providerError: error, providerSays: providerSays(error_description, secretsOf(request)) }
  if (status < 500) {
    if (status === 401 || ABOUT_OUR_CLIENT.has(error))
      throw refusalFor('client_refused', { ...place, what: isUnprovable ? UNPROVABLE : '' }, extras)
    // GitHub reports errors with status 200.
    if (status === 200 || ABOUT_THE_CODE.has(error))
      return refuseCallback(callback, 'code_refused', { ...place }, extras)
  }
  return refusedBy(place, status, extras)
}

const CLAIMS: readonly string[] = ['iss', 'aud', 'azp', 'nonce']
const isText = (value: unknown): boolean => typeof value === 'string'
/** Required claims of an ID token, with the test of their type. */
const REQUIRED = {
  iss: isText,
  sub: isText,
  aud: (value: unknown) => isText(value) || Array.isArray(value),
  exp: Number.isFinite,
  iat: Number.isFinite,
  nonce: isText,
} as const

/** What makes an ID token unusable that has an accepted signature algorithm. Names claims, never their values. */
const flawOf = (idToken: string, { maxAge }: AuthorizationCodeGrantChecks): string => {
  const payload = objectOfPart(idToken.split('.')[1])
  if (!payload || idToken.split('.').length !== 3) return 'is not a signed JWT'
  const required = Object.entries({ ...REQUIRED, ...(maxAge !== undefined && { auth_time: Number.isFinite }) })
  const [name] = required.find(([name, fits]) => !fits(payload[name])) ?? []
  if (name === undefined) return 'is not a JWT that Rollcall can read'
  return payload[name] === undefined ? `lacks the claim ${name}` : `has a claim ${name} of a wrong type`
}

/** Returns true if the signature check failed. No other error of the library has a cause with a `signature`. */
const isOfSignature = (error: unknown): boolean => {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return cause instanceof Error ? isOfSignature(cause) : isObject(cause) && 'signature' in cause
}

/** Cause for an ID token that the library refused, and its details. The cause contains no part of the token. */
const idTokenCause = (
  idToken: string,
  error: unknown,
  algorithms: readonly string[],
  checks: AuthorizationCodeGrantChecks,
): readonly [LoginCause, Gaps?] => {
  const { alg, enc } = objectOfPart(idToken.split('.', 1)[0]) ?? {}
  const algorithm = (what: string) => ['id_token_algorithm', { what }] as const
  if (enc !== undefined || idToken.split('.').length === 5) return algorithm('encrypted')
  if (typeof alg === 'string') {
    if (/^HS\d/.test(alg)) return algorithm('signed with a secret (such as HS256), not with a key')
    if (alg.toLowerCase() === 'none') return algorithm('not signed')
    if (!algorithms.includes(alg))
      return algorithm('signed with an algorithm that Rollcall or the discovery document does not support')
  }
  const { codes, claims } = codesOf(error)
  const claim = claims.at(-1)
  if (claims.includes('auth_time')) return ['id_token_time', { claim: 'auth_time is older than max_age' }]
  if (codes.includes('OAUTH_KEY_SELECTION_FAILED')) return ['id_token_key', { what: 'no single key that fits it' }]
  if (codes.includes('OAUTH_JWT_TIMESTAMP_CHECK_FAILED')) return ['id_token_time', { claim: 'exp or nbf' }]
  if (claim !== undefined && CLAIMS.includes(claim)) return ['id_token_claims', { claim }]
  if (isOfSignature(error)) return ['id_token_key', { what: 'a wrong signature' }]
  return ['id_token_malformed', { what: flawOf(idToken, checks) }]
}

const attempt = async (
  exchange: Exchange,
  authentication: ClientAuth,
  another: boolean,
): Promise<Tokens | undefined> => {
  const { callback, call, configuration, url, checks, idToken } = exchange
  const seen = { idToken: undefined as string | undefined, otherClient: false }
  const config = configuration(authentication)
  const place = placeOf(STEP, config.serverMetadata().token_endpoint!)
  config[customFetch] = async (address, { method, headers, body }) => {
    if (method === 'GET' && idToken) return Response.json(await idToken.keys())
    const answer = await call(STEP, address, { method, headers, body }, (place) => tooMuchTold(callback, place))
    const { status } = answer
    const content: unknown = await answer.json().catch(() => undefined)
    if (!isObject(content))
      return status === 200
        ? unusable(place, 'answer is not a JSON object')
        : refused(exchange, place, status, {}, { headers })
    seen.otherClient = content['error'] === 'invalid_client' && another
    if (status !== 200 || typeof content['error'] === 'string')
      return refused(exchange, place, status, content, { headers, body })
    const tokens = usable(content, place, idToken !== undefined)
    seen.idToken = tokens.id_token
    return Response.json(tokens)
  }
  try {
    return await authorizationCodeGrant(config, url, checks)
  } catch (error) {
    if (seen.otherClient) return undefined
    const refusal = (error as { cause?: unknown }).cause instanceof Refusal
    if (seen.idToken === undefined || refusal) return unusable(place, error)
    return refuseCallback(callback, ...idTokenCause(seen.idToken, error, idToken!.algorithms, checks))
  }
}

type Usable = { readonly access_token: string; readonly token_type: string; readonly id_token?: string }

/** Passes on only the required fields, so that any later failure is one of the ID token. */
const usable = (
  { access_token, token_type, id_token }: Readonly<Record<string, unknown>>,
  place: ProviderStep,
  withIdToken: boolean,
): Usable => {
  if (typeof access_token !== 'string' || access_token === '')
    return unusable(place, 'answer without an access token (access_token)')
  if (typeof token_type !== 'string') return unusable(place, 'answer without the type of its access token (token_type)')
  if (!TOKEN_TYPES.has(token_type.toLowerCase()))
    return unusable(place, 'the token_type of the answer is neither Bearer nor DPoP')
  if (!withIdToken) return { access_token, token_type }
  return typeof id_token === 'string' && id_token !== ''
    ? { access_token, token_type, id_token }
    : unusable(place, 'answer without an ID token')
}
