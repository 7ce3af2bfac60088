import type { LoginCause } from '../login-causes.ts'
import { isObject } from '../outgoing/provider-fetch.ts'
import { codesOf } from '../safe-cause.ts'

const headerOf = (idToken: string): Readonly<Record<string, unknown>> => {
  try {
    const header: unknown = JSON.parse(Buffer.from(idToken.split('.', 1)[0]!, 'base64url').toString())
    return isObject(header) ? header : {}
  } catch {
    return {}
  }
}

const ofClaim: Readonly<Record<string, LoginCause>> = {
  iss: 'id_token_issuer',
  aud: 'id_token_audience',
  azp: 'id_token_audience',
  nonce: 'id_token_nonce',
}

/** Returns true if the signature check failed. No other error of the library has a cause with a `signature`. */
const isOfSignature = (error: unknown): boolean => {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return cause instanceof Error ? isOfSignature(cause) : isObject(cause) && 'signature' in cause
}

/** Cause for an ID token that the library refused. The cause contains no part of the token. */
export const idTokenCause = (idToken: string, error: unknown, algorithms: readonly string[]): LoginCause => {
  const { alg, enc } = headerOf(idToken)
  if (enc !== undefined || idToken.split('.').length === 5) return 'id_token_encrypted'
  if (typeof alg === 'string') {
    if (/^HS\d/.test(alg)) return 'id_token_symmetric'
    if (alg.toLowerCase() === 'none') return 'id_token_unsigned'
    if (!algorithms.includes(alg)) return 'id_token_algorithm'
  }
  const { codes, claims } = codesOf(error)
  if (claims.includes('auth_time')) return 'id_token_age'
  if (codes.includes('OAUTH_KEY_SELECTION_FAILED')) return 'id_token_key'
  if (codes.includes('OAUTH_JWT_TIMESTAMP_CHECK_FAILED')) return 'id_token_time'
  return ofClaim[claims.at(-1) ?? ''] ?? (isOfSignature(error) ? 'id_token_signature' : 'id_token_malformed')
}
