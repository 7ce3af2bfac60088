import { documentUrl, issuer, url } from './addresses.ts'
import { authorizeParameters } from './authorize-parameters.ts'
import { empty, list } from './collections.ts'
import { authority, ownProxy } from './outgoing.ts'
import { type Derived, required, setting } from './setting.ts'
import { bool, duration, ignored, label, oneOf, secret, text } from './types.ts'

const none = undefined
const publicUrl: Derived<string | undefined> = {
  shown: '`server.public_url`',
  from: (get) => get('server.public_url') as string | undefined,
}
/** A rule of `rules.ts` wants it, for it belongs to another setting beside it. */
const secretOfClient: Derived<string | undefined> = {
  shown: 'required unless client_authentication is none',
  from: () => undefined,
}

/** Where the browsers of a login come back. */
export const redirectAddress = (whom: string) =>
  setting(url, publicUrl, `Base URL that the ${whom} sends browsers back to.`)

/** The settings of one OpenID Connect provider (api.md §12.2). */
export const oidcProvider = {
  issuer_url: setting(
    issuer,
    required,
    'Issuer, exactly as the provider states it; https, or http on a loopback host or one of outgoing.http_hosts.',
  ),
  discovery_url: setting(
    documentUrl,
    none,
    'Where the discovery document is read when not at the issuer: its address, or what stands before /.well-known/openid-configuration. It must state the issuer all the same.',
  ),
  ca_path: authority('provider'),
  proxy: ownProxy('provider'),
  display_name: setting(label, none, 'What the sign-in page calls the provider; at most 64 characters.'),
  client_id: setting(text, required, 'Client id that the provider gave.'),
  client_secret: setting(secret, secretOfClient, 'Client secret that the provider gave.'),
  client_authentication: setting(
    oneOf('basic', 'post', 'none'),
    none,
    'How the client proves itself at the token endpoint: in the header, in the body, or not at all (a public client); not set, as discovery says.',
  ),
  clock_tolerance: setting(
    duration,
    30_000,
    'How far the clocks of the provider and this machine may be apart; at most 5m.',
  ),
  redirect_address: redirectAddress('provider'),
  scopes: setting(list(text), [], 'Scopes to ask for; openid is added.'),
  claims: setting(
    oneOf('id_token', 'userinfo'),
    'id_token',
    'Where the provider says who somebody is: in the ID token alone, or at its userinfo endpoint too, which has the last word.',
  ),
  authorize_parameters: setting(
    authorizeParameters,
    empty,
    'Further parameters of the address that browsers are sent to, such as hd, prompt, audience, acr_values or domain_hint; none that the login sends itself.',
  ),
  assume_email_verified: setting(
    bool,
    false,
    'Take an e-mail address as verified where the provider says nothing of it (no claim email_verified).',
  ),
  nonce: setting(ignored, none, 'Accepted without effect: a nonce is always fresh.'),
  use_pkce: setting(ignored, none, 'Accepted without effect: PKCE is always on.'),
}
