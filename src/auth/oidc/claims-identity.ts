import type { ClaimUse } from '../../access/claims.ts'
import { type Claims, isVerified } from '../../access/claims.ts'
import { type Identity, texts } from '../identity.ts'
import { formsOf, keptOf } from '../kept.ts'
import { refuseCallback } from './callback.ts'

const CLAIMS = ['sub', 'email', 'name', 'picture', 'profile', 'preferred_username', 'sid']
/** Last time of issue that is stored: the end of the year 9999. */
const MAX_MS = Date.UTC(10_000, 0, 1) - 1

/** Builds the stored identity from the claims of an issuer (api.md §5.2). */
export const oidcIdentity = (
  { name: provider, asked }: { readonly name: string; readonly asked: readonly ClaimUse[] },
  issuer: string,
  { nonce: _nonce, ...claims }: Claims,
): Identity => {
  const [sub, email, name, picture, profile, username, sid] = texts(claims, CLAIMS)
  if (!sub) return refuseCallback('oidc', 'id_token_malformed')
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
