import { randomBytes } from 'node:crypto'
import { type Claims, isVerified } from '../access/claims.ts'
import type { LoginCause } from '../base/login-causes.ts'

/**
 * Identity of a logged-in person: the subject, never the e-mail address. Attributes have the keys of api.md §5.2
 * without the prefix. Attributes that the provider did not send are absent.
 */
export type Identity = {
  readonly subject: { readonly issuer: string; readonly sub: string }
  readonly attributes: Readonly<Record<string, string>>
  readonly email?: string
  readonly emailVerified?: boolean
  /** True if parts of the provider's data were dropped because of the size limit. */
  readonly reduced?: true
  /** Issue of the ID token as RFC 3339 UTC, and the session at the provider (`sid`), for OpenID Connect. */
  readonly providerSession?: { readonly issuedAt: string; readonly sid?: string }
  /** Cause if the memberships of the person do not satisfy the restrictions of the code host. */
  readonly barred?: LoginCause
  /** ID token as received, if the provider is configured to receive it again at sign-out. It must not be logged. */
  readonly idToken?: string
}

/** Secrets that bind a callback to its login: 256 random bits each. */
export type LoginSecrets = { readonly state: string; readonly nonce: string; readonly codeVerifier: string }

/** Creates the secrets of a login. */
export const freshSecrets = (): LoginSecrets => {
  const secret = () => randomBytes(32).toString('base64url')
  return { state: secret(), nonce: secret(), codeVerifier: secret() }
}

/** Stored claims of an OpenID Connect login; empty if they were erased. */
export const claimsIn = ({ claims }: Readonly<Record<string, string>>): Claims =>
  claims === undefined ? {} : (JSON.parse(claims) as Claims)

/**
 * Checks an e-mail address: it must be present, verified and match. Returns the cause if it is not.
 * `assumeVerified` applies if the provider sends no `email_verified`.
 */
export const emailRule = (
  matches: (email: string) => boolean,
  { email, email_verified: verified }: Claims,
  assumeVerified = false,
): LoginCause | undefined => {
  if (typeof email !== 'string' || email === '') return 'email_absent'
  if (!isVerified(verified, assumeVerified)) return verified === undefined ? 'email_unsaid' : 'email_unverified'
  return matches(email) ? undefined : 'email_unmatched'
}

/**
 * Returns a text with unpaired surrogates replaced, because JSON escapes can contain them; undefined for other values.
 */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? Buffer.from(value).toString() : undefined

/** Returns the texts of claims, in the order of their names. */
export const texts = (claims: Claims, names: readonly string[]): readonly (string | undefined)[] =>
  names.map((name) => text(claims[name]))

/** Type guard for a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses a JSON object; undefined for any other text. */
export const objectIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Parses the JSON object in a part of a JWT; undefined for any other part. */
export const objectOfPart = (part = ''): Readonly<Record<string, unknown>> | undefined =>
  objectIn(Buffer.from(part, 'base64url').toString())
