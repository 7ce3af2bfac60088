import { randomBytes } from 'node:crypto'
import { isVerified } from '../access/claims.ts'
import { unavailable } from './provider-fetch.ts'

/** The sealed form in an event of at most 64 KiB is a third longer. */
const LIMIT = 40_960

/**
 * Who logged in. The subject is the identity, never the e-mail. Attributes have the keys of api.md §5.2 without the
 * prefix; those that the provider did not give are absent.
 */
export type Identity = {
  readonly subject: { readonly issuer: string; readonly sub: string }
  readonly attributes: Readonly<Record<string, string>>
  readonly email?: string
  readonly emailVerified?: boolean
}

/** What binds one login to its answer: 256 random bits each. */
export type LoginSecrets = { readonly state: string; readonly nonce: string; readonly codeVerifier: string }

/** New secrets for one login. */
export const freshSecrets = (): LoginSecrets => {
  const secret = () => randomBytes(32).toString('base64url')
  return { state: secret(), nonce: secret(), codeVerifier: secret() }
}

/**
 * True when the whole of `email` matches and is verified; `assumeVerified` where the provider says nothing of that. Takes the claims of an ID
 * token, or the attributes kept of them.
 */
export const emailRule = (
  matches: (email: string) => boolean,
  claims: { readonly email?: unknown; readonly email_verified?: unknown },
  assumeVerified = false,
): boolean =>
  typeof claims.email === 'string' && isVerified(claims.email_verified, assumeVerified) && matches(claims.email)

/** A text as it can be kept: unpaired surrogates, which JSON escapes let through, are replaced. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? Buffer.from(value).toString() : undefined

/** The attributes that have a value. More than an event can hold is an answer that cannot be used. */
export const attributesOf = (all: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const known: Record<string, string> = {}
  for (const [key, value] of Object.entries(all)) if (value !== undefined) known[key] = value
  return Buffer.byteLength(JSON.stringify(known)) <= LIMIT ? known : unavailable(`identity larger than ${LIMIT} bytes`)
}
