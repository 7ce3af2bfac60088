import { randomUUID } from 'node:crypto'
import { type Liar, lyingClient } from '../auth/stand-ins/liar.ts'
import type { Started } from '../start.ts'
import { OIDC } from './people.ts'

type Claims = Readonly<Record<string, unknown>>

const FORM = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' }

/** Key of a logout token in its claim `events` (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
export const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** The claims of a logout token that a provider must send, for `alice`; `claims` replaces some or adds others. */
export const logoutClaims = (liar: Liar, claims: Claims = {}): Record<string, unknown> => ({
  iss: liar.url,
  aud: lyingClient.clientId,
  sub: 'alice',
  iat: Math.floor(liar.now() / 1000),
  jti: randomUUID(),
  events: { [LOGOUT_EVENT]: {} },
  ...claims,
})

/** A logout token with these claims and the header of the specification. */
export const logoutToken = (liar: Liar, claims: Claims = {}): Promise<string> =>
  liar.signed(logoutClaims(liar, claims), { typ: 'logout+jwt' })

/** Form with a logout token. */
export const formOf = (token: string): string => String(new URLSearchParams({ logout_token: token }))

/** Sends a body to the logout route of the provider whose routes begin with `path`, as a provider does: without a client token. */
export const postLogout = (
  service: Started,
  body: string,
  path = OIDC,
  headers: Readonly<Record<string, string>> = {},
) =>
  service.request<{ error?: string; error_description?: string }>('POST', `${path}/backchannel-logout`, body, {
    ...FORM,
    ...headers,
  })

/** Sends a logout token. */
export const sendLogout = (service: Started, token: string, path = OIDC) => postLogout(service, formOf(token), path)
