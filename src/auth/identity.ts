import { randomBytes } from 'node:crypto'
import { type Claims, type ClaimUse, claimsNamed, claimsRead, isVerified } from '../access/claims.ts'
import type { LoginCause } from '../base/login-causes.ts'
import type { LoginKind } from '../events/login.ts'
import { refuseCallback } from './oidc/callback.ts'

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

/**
 * Maximum size in bytes of a stored identity. The encrypted form of an identity, a third larger, must fit into an event
 * of 64 KiB.
 */
const LIMIT = 40_960

type Attributes = Readonly<Record<string, string | undefined>>

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/**
 * Returns the first form of an identity that fits into the limit. The forms are ordered from complete to smallest.
 * Refuses with `identity_too_large`.
 */
export const keptOf = (callback: LoginKind, forms: Iterable<Attributes>): Pick<Identity, 'attributes' | 'reduced'> => {
  let reduced = false
  for (const form of forms) {
    const known = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const attributes = Object.fromEntries(known)
    if (bytesOf(attributes) <= LIMIT) return { attributes, ...(reduced && { reduced }) }
    reduced = true
  }
  return refuseCallback(callback, 'identity_large', { what: `the claims that rules use exceed ${LIMIT} bytes` })
}

/** Names of the smallest claims that fit into `bytes`. */
const smallest = (claims: Claims, bytes: number): ReadonlySet<string> => {
  const names = new Set<string>()
  const sizes = Object.entries(claims).map(
    ([name, value]) => [name, bytesOf(JSON.stringify({ [name]: value }))] as const,
  )
  let room = bytes
  for (const [name, size] of sizes.toSorted(([, one], [, other]) => one - other)) {
    room -= size
    if (room < 0) break
    names.add(name)
  }
  return names
}

/**
 * Forms of an OpenID Connect identity, the complete one first. Claims that rules read are dropped last. Claim values
 * that rules name are never dropped.
 */
function* formsOf(
  { picture, 'oidc.picture': oidcPicture, 'oidc.profile': profile, ...identity }: Attributes,
  claims: Claims,
  asked: readonly ClaimUse[],
): Generator<Attributes> {
  const pages = { picture, 'oidc.picture': oidcPicture, 'oidc.profile': profile }
  yield { ...identity, ...pages, claims: JSON.stringify(claims) }
  for (const needed of [claimsRead(claims, asked), claimsNamed(claims, asked)])
    for (const shown of [{ ...identity, ...pages }, identity]) {
      const room = LIMIT - bytesOf({ ...shown, claims: JSON.stringify(needed) })
      const others = Object.fromEntries(Object.entries(claims).filter(([name]) => !Object.hasOwn(needed, name)))
      const fitting = smallest(others, room)
      const rest = Object.fromEntries(Object.entries(others).filter(([name]) => fitting.has(name)))
      yield { ...shown, claims: JSON.stringify({ ...rest, ...needed }) }
    }
}

const CLAIMS = ['sub', 'email', 'name', 'picture', 'profile', 'preferred_username', 'sid']
/** Last time of issue that is stored: the end of the year 9999. */
const MAX_MS = Date.UTC(10_000, 0, 1) - 1

/** Builds the stored identity from the claims of an issuer (api.md §5.2). */
export const oidcIdentity = (
  { name: provider, asked }: { readonly name: string; readonly asked: readonly ClaimUse[] },
  issuer: string,
  { nonce: _nonce, ...claims }: Claims,
): Identity => {
  const [sub, email, name, picture, profile, username, sid] = CLAIMS.map((claim) => text(claims[claim]))
  if (!sub) return refuseCallback('oidc', 'id_token_malformed', { what: 'has no usable claim sub' })
  const issued = Math.min(Math.max(Number(claims['iat']) * 1000 || 0, 0), MAX_MS)
  const given = claims['email_verified']
  const verified = given === undefined ? undefined : String(isVerified(given, false))
  const known = {
    'oidc.provider': provider,
    'oidc.email': email,
    'oidc.email_verified': verified,
    'oidc.name': name,
    'oidc.profile': profile,
    'oidc.picture': picture,
    'oidc.sub': sub,
    'oidc.preferred_username': username,
    email,
    name,
    picture,
  }
  return {
    subject: { issuer, sub },
    providerSession: { issuedAt: new Date(issued).toISOString(), ...(sid && { sid }) },
    ...keptOf('oidc', formsOf(known, claims, asked)),
    ...(email === undefined ? {} : { email }),
    ...(verified === undefined ? {} : { emailVerified: verified === 'true' }),
  }
}
