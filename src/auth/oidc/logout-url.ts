import type { ServerMetadata } from 'openid-client'
import { type Discovery, mayBeAsked } from './discovery.ts'

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
