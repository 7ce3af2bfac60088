import {
  authorizationCodeGrant,
  type AuthorizationCodeGrantChecks,
  type ClientAuth,
  type Configuration,
  customFetch,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client'
import { Refusal } from '../errors.ts'
import type { LoginKind } from '../events/login.ts'
import { refuseCallback, tooMuchTold, withProviderError } from './callback.ts'
import { isObject, type ProviderFetch, unavailable } from './provider-fetch.ts'
import { safeCause } from './safe-cause.ts'

/** Errors that are about the code or its user. Every other one is about our client or the provider's state. */
const ABOUT_THE_CODE: ReadonlySet<unknown> = new Set([
  'invalid_grant',
  'invalid_request',
  'access_denied',
  'bad_verification_code',
])
const TOKEN_TYPES: ReadonlySet<unknown> = new Set(['bearer', 'dpop'])

export type Exchange = {
  readonly callback: LoginKind
  readonly call: ProviderFetch
  readonly configuration: (authentication: ClientAuth) => Configuration
  /** How our client may prove itself: the next way is tried when the provider does not take the client by this one. */
  readonly authentications: readonly ClientAuth[]
  readonly url: URL
  readonly checks: AuthorizationCodeGrantChecks
  /** The provider's key set, when the ID token is to be verified. */
  readonly keys?: () => Promise<object>
}

export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers

/** Exchanges a code for verified tokens. Refuses with `code_refused`, `id_token_invalid` or `provider_unavailable`, as api.md §5.5 tells them apart. */
export const exchangeCode = async (exchange: Exchange): Promise<Tokens> => {
  for (const [n, authentication] of exchange.authentications.entries()) {
    const tokens = await attempt(exchange, authentication, n + 1 < exchange.authentications.length)
    if (tokens) return tokens
  }
  return unavailable('provider refused our client')
}

const attempt = async (
  { callback, call, configuration, url, checks, keys }: Exchange,
  authentication: ClientAuth,
  another: boolean,
): Promise<Tokens | undefined> => {
  const seen = { tokens: false, otherClient: false }
  const config = configuration(authentication)
  config[customFetch] = async (address, { method, headers, body }) => {
    if (method === 'GET' && keys) return Response.json(await keys())
    const answer = await call(address, { method, headers, body }, () =>
      tooMuchTold(callback, 'the answer of the token endpoint is larger than 1 MiB'),
    )
    const content: unknown = await answer.json().catch(() => undefined)
    if (!isObject(content)) return unavailable(`token endpoint answered ${answer.status} without a JSON object`)
    const { error } = content
    seen.otherClient = error === 'invalid_client' && another
    // The well-known code host says no with a 200.
    if (typeof error === 'string' && (answer.status === 200 || (answer.status < 500 && ABOUT_THE_CODE.has(error))))
      return refuseCallback(callback, 'code_refused', {
        cause: withProviderError(new Error('the token endpoint refused the code'), error),
      })
    if (answer.status !== 200) return unavailable(`token endpoint answered ${answer.status}`, error)
    const tokens = usable(content, keys !== undefined)
    seen.tokens = true
    return Response.json(tokens)
  }
  try {
    return await authorizationCodeGrant(config, url, checks)
  } catch (error) {
    if (seen.otherClient) return undefined
    const refusal = (error as { cause?: unknown }).cause instanceof Refusal
    return seen.tokens && !refusal
      ? refuseCallback(callback, 'id_token_invalid', { cause: safeCause(error) })
      : unavailable(error)
  }
}

/** Only the members that are needed are passed on, so that any later failure is the ID token's. */
const usable = ({ access_token, token_type, id_token }: Readonly<Record<string, unknown>>, withIdToken: boolean) => {
  const bearer =
    typeof access_token === 'string' && typeof token_type === 'string' && TOKEN_TYPES.has(token_type.toLowerCase())
  if (!bearer || access_token === '') return unavailable('token endpoint gave no access token')
  if (!withIdToken) return { access_token, token_type }
  return typeof id_token === 'string' && id_token !== ''
    ? { access_token, token_type, id_token }
    : unavailable('token endpoint gave no ID token')
}
