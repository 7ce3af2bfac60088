import { type Configuration, customFetch, fetchUserInfo } from 'openid-client'
import type { Claims } from '../../access/claims.ts'
import { Refusal } from '../../base/errors.ts'
import { isObject, objectIn } from '../identity.ts'
import { type ProviderFetch, type ProviderStep, placeOf, refusedBy, unusable } from '../outgoing/provider-fetch.ts'
import { safeCause } from '../safe-cause.ts'
import { refuseCallback, tooMuchTold } from './callback.ts'
import type { Known } from './discovery.ts'

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
export const readUserinfo = async ({
  call,
  known,
  config,
  keys,
  accessToken,
  sub,
}: UserinfoRequest): Promise<Claims> => {
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
