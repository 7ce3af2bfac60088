import { type Claims, isVerified } from '../../access/claims.ts'
import type { ClaimUse } from '../../access/claims-kept.ts'
import { type Identity, text } from '../identity.ts'
import { formsOf, keptOf } from '../kept.ts'
import { refuseCallback } from './callback.ts'

/** Builds the stored identity from the claims of an issuer (api.md §5.2). */
export const oidcIdentity = (
  { name: provider, asked }: { readonly name: string; readonly asked: readonly ClaimUse[] },
  issuer: string,
  { nonce: _nonce, ...claims }: Claims,
): Identity => {
  const sub = text(claims['sub'])
  if (!sub) return refuseCallback('oidc', 'id_token_malformed')
  const [email, name, picture] = [text(claims['email']), text(claims['name']), text(claims['picture'])]
  const given = claims['email_verified']
  const verified = given === undefined ? undefined : String(isVerified(given, false))
  const known = {
    'oidc.provider': provider,
    'oidc.email': email,
    'oidc.email_verified': verified,
    'oidc.name': name,
    'oidc.profile': text(claims['profile']),
    'oidc.picture': picture,
    'oidc.sub': sub,
    'oidc.preferred_username': text(claims['preferred_username']),
    email,
    name,
    picture,
  }
  return {
    subject: { issuer, sub },
    ...keptOf('oidc', formsOf(known, claims, asked)),
    ...(email === undefined ? {} : { email }),
    ...(verified === undefined ? {} : { emailVerified: verified === 'true' }),
  }
}
