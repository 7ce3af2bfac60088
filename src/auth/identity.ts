import { randomBytes } from 'node:crypto'
import { type Claims, isVerified } from '../access/claims.ts'
import type { LoginCause } from './login-causes.ts'

/**
 * Who logged in. The subject is the identity, never the e-mail. Attributes have the keys of api.md §5.2 without the
 * prefix; those that the provider did not give are absent.
 */
export type Identity = {
  readonly subject: { readonly issuer: string; readonly sub: string }
  readonly attributes: Readonly<Record<string, string>>
  readonly email?: string
  readonly emailVerified?: boolean
  /** True where the provider told more than is kept. */
  readonly reduced?: true
}

/** What binds one login to its answer: 256 random bits each. */
export type LoginSecrets = { readonly state: string; readonly nonce: string; readonly codeVerifier: string }

/** New secrets for one login. */
export const freshSecrets = (): LoginSecrets => {
  const secret = () => randomBytes(32).toString('base64url')
  return { state: secret(), nonce: secret(), codeVerifier: secret() }
}

/** The claims that are kept of a login by OpenID Connect: none, where they were erased. */
export const claimsIn = ({ claims }: Readonly<Record<string, string>>): Claims =>
  claims === undefined ? {} : (JSON.parse(claims) as Claims)

/**
 * Why an e-mail address keeps somebody out, if it does: it must be there, verified, and pass `barOf`; `assumeVerified` where the provider says
 * nothing of that.
 */
export const emailRule = (
  barOf: (email: string) => LoginCause | undefined,
  { email, email_verified: said }: Claims,
  assumeVerified = false,
): LoginCause | undefined => {
  if (typeof email !== 'string' || email === '') return 'email_absent'
  if (!isVerified(said, assumeVerified)) return said === undefined ? 'email_unsaid' : 'email_unverified'
  return barOf(email)
}

/** A text as it can be kept: unpaired surrogates, which JSON escapes let through, are replaced. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? Buffer.from(value).toString() : undefined
