import { createLocalJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import type { ServerMetadata } from 'openid-client'
import { Refusal } from '../../base/errors.ts'
import type { Cached } from '../cached.ts'
import { isObject, text } from '../identity.ts'
import { codesOf } from '../safe-cause.ts'
import { algorithmsOf, type Discovery, type KeySet, type Known, mayBeAsked, type OidcSettings } from './discovery.ts'

/** Parameters of a logout at the provider: our post-logout redirect URI, its state, and the ID token, if it was kept. */
export type LogoutRequest = {
  readonly returnTo: string
  readonly state: string
  readonly idToken?: string | undefined
}

/**
 * Returns the URL of a logout at the provider (RP-Initiated Logout 1.0 §2); undefined if the discovery document has no
 * usable `end_session_endpoint`. Replaces parameters that the endpoint has already, which the OpenID library would send
 * twice.
 */
export const logoutUrlOf = (
  settings: Discovery,
  { end_session_endpoint: endpoint }: ServerMetadata,
  { returnTo, state, idToken }: LogoutRequest,
): URL | undefined => {
  if (!mayBeAsked(endpoint, settings)) return undefined
  const url = new URL(endpoint!)
  url.searchParams.set('client_id', settings.clientId)
  url.searchParams.set('post_logout_redirect_uri', returnTo)
  url.searchParams.set('state', state)
  if (idToken !== undefined) url.searchParams.set('id_token_hint', idToken)
  return url
}

/** Verified logout token: the person (`sub`), the session at the provider (`sid`), or both. */
export type LogoutToken = {
  readonly issuer: string
  readonly jti: string
  /** Time of issue as RFC 3339 UTC with milliseconds. */
  readonly issuedAt: string
  readonly sub?: string
  readonly sid?: string
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Maximum length of a logout token, and of its texts. */
const MOST_CHARACTERS = 16_384
const MOST_OF_TEXT = 1_024
/** Maximum age of a logout token. Providers send it at once and do not repeat it. */
const MAX_AGE_S = 600

const refuseToken = (why: string): never => {
  const sentence = `logout token was refused: ${why}`
  throw new Refusal('logout_token_invalid', sentence, { cause: new Error(why) })
}

const ofClaim: Readonly<Record<string, string>> = {
  iss: 'it names another issuer',
  aud: 'it is for another client',
  exp: 'it has expired',
  iat: 'its time of issue is in the future, or longer ago than 10 minutes',
  nbf: 'it is not valid yet',
}

/** Sentence for an error of the library. It contains no part of the token. */
const sentenceOf = (error: unknown): string => {
  if (error instanceof errors.JOSEAlgNotAllowed) return 'it is not signed with an accepted algorithm'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'no key of the provider fits it, or several do and it names none'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  return ofClaim[codesOf(error).claims.at(-1) ?? ''] ?? 'it is not a signed JWT with the claims of a logout token'
}

/** Text of a claim; undefined if the claim is absent. */
const claimOf = (claims: JWTPayload, name: string): string | undefined => {
  const value = claims[name]
  if (value === undefined) return undefined
  const found = text(value) ?? ''
  return found !== '' && found.length <= MOST_OF_TEXT ? found : refuseToken(`its ${name} is not a usable text`)
}

/** Checks the claims of a logout token beyond those of every JWT (OpenID Connect Back-Channel Logout 1.0 §2.6). */
const checked = (claims: JWTPayload, issuer: string): LogoutToken => {
  const { events, iat } = claims
  if (!isObject(events) || !isObject(events[EVENT])) return refuseToken('it has no event of a logout')
  if (claims['nonce'] !== undefined) return refuseToken('it has a nonce, like an ID token')
  const [jti, sub, sid] = ['jti', 'sub', 'sid'].map((name) => claimOf(claims, name))
  if (jti === undefined) return refuseToken('it has no jti')
  if (sub === undefined && sid === undefined) return refuseToken('it has neither sub nor sid')
  const issuedAt = new Date(iat! * 1000).toISOString()
  return { issuer, jti, issuedAt, ...(sub !== undefined && { sub }), ...(sid !== undefined && { sid }) }
}

/**
 * Verifies logout tokens of a provider: signature, issuer, audience, times, event, `jti`, and `sub` or `sid`. Refuses
 * with `logout_token_invalid`, and with `provider_unavailable` or `provider_mismatch` if the keys cannot be read. The
 * caller accepts each `jti` once.
 */
export const logoutTokens = (
  provider: Cached<Known>,
  { clientId, clock: { now }, clockTolerance }: Pick<OidcSettings, 'clientId' | 'clock' | 'clockTolerance'>,
) => {
  const verify = async (token: string, { metadata }: Known, keys: KeySet) => {
    const { issuer } = metadata
    const { payload, protectedHeader } = await jwtVerify(
      token,
      createLocalJWKSet(keys as Parameters<typeof createLocalJWKSet>[0]),
      {
        issuer,
        audience: clientId,
        algorithms: algorithmsOf(metadata.id_token_signing_alg_values_supported),
        clockTolerance: Math.round(clockTolerance / 1000),
        maxTokenAge: MAX_AGE_S,
        currentDate: now(),
      },
    )
    const { typ } = protectedHeader
    if (typ !== undefined && !/^(?:application\/)?(?:logout\+)?jwt$/i.test(typ))
      return refuseToken('its typ is not logout+jwt')
    return checked(payload, issuer)
  }

  return async (token: string): Promise<LogoutToken> => {
    if (token.length > MOST_CHARACTERS) return refuseToken('it is larger than 16 KiB')
    const held = await provider.get()
    const keys = await held.keys.get()
    try {
      return await verify(token, held, keys).catch(async (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        const newer = await provider.again()
        return verify(token, newer, await newer.keys.get())
      })
    } catch (error) {
      if (error instanceof Refusal) throw error
      return refuseToken(sentenceOf(error))
    }
  }
}
