import { type Configuration, customFetch, fetchUserInfo } from 'openid-client'
import type { Claims } from '../access/claims.ts'
import { Refusal } from '../errors.ts'
import { refuseCallback, tooMuchTold } from './callback.ts'
import type { Known } from './oidc-discovery.ts'
import { isObject, type ProviderFetch, type ProviderStep, placeOf, refusedBy, unusable } from './provider-fetch.ts'
import { safeCause } from './safe-cause.ts'

/** Claims that are about the login and not about the person: only the ID token says them. */
const OF_THE_LOGIN: ReadonlySet<string> = new Set(
  'iss sub aud exp iat nbf jti nonce azp sid auth_time acr amr at_hash c_hash s_hash'.split(' '),
)
const ADDRESS = ['email', 'email_verified'] as const
const REFERENCES = '_claim_names'

const STEP = 'userinfo'

/** An answer that the library can read; what says that there is nothing to read is refused here. */
const readable = async (answer: Response, place: ProviderStep): Promise<Response> => {
  const { status, headers } = answer
  if (status === 401 || status === 403) return refuseCallback('oidc', 'userinfo_refused', { ...place, status })
  if (status !== 200) return refusedBy(place, status)
  const type = headers.get('content-type') ?? ''
  const text = await answer.text()
  if (/^application\/jwt\b/i.test(type)) {
    if (text.split('.').length === 5) return refuseCallback('oidc', 'userinfo_encrypted')
    return new Response(text, { headers: { 'content-type': 'application/jwt' } })
  }
  const content = parsed(text)
  return isObject(content) ? Response.json(content) : unusable(place, 'answer is no JSON object')
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type UserinfoRequest = {
  readonly call: ProviderFetch
  readonly known: Known
  /** Of a client that proves nothing: the access token does. */
  readonly config: Configuration
  /** The key set read anew: asked for when none of those that are held fits. */
  readonly keys: () => Promise<object>
  readonly accessToken: string
  readonly sub: string
}

/**
 * What a provider says of a person at its userinfo endpoint (OpenID Connect Core §5.3): of nobody but `sub`, and where it is signed, with a signature that
 * holds. Refuses with `userinfo_invalid`, `identity_too_large` or `provider_unavailable`.
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
    return code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'
      ? refuseCallback('oidc', 'userinfo_subject')
      : refuseCallback('oidc', 'userinfo_unfit', { what: safeCause(error).message })
  }
}

/**
 * The claims of an ID token with those of userinfo, which has the last word on the person. An address and whether it is verified are taken from one of
 * them together, and what is told needs no reference.
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
