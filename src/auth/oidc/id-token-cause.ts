import type { LoginCause } from '../../base/login-causes.ts'
import { isObject, objectOfPart } from '../json-object.ts'
import type { Gaps } from '../refusal-details.ts'
import { codesOf } from '../safe-cause.ts'

const OF_THE_LOGIN: readonly string[] = ['iss', 'aud', 'azp', 'nonce']

/** Returns true if the signature check failed. No other error of the library has a cause with a `signature`. */
const isOfSignature = (error: unknown): boolean => {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return cause instanceof Error ? isOfSignature(cause) : isObject(cause) && 'signature' in cause
}

/** Cause for an ID token that the library refused, and its details. The cause contains no part of the token. */
export const idTokenCause = (
  idToken: string,
  error: unknown,
  algorithms: readonly string[],
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
  if (claim !== undefined && OF_THE_LOGIN.includes(claim)) return ['id_token_claims', { claim }]
  return isOfSignature(error) ? ['id_token_key', { what: 'a wrong signature' }] : ['id_token_malformed']
}
