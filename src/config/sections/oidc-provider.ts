import { baseUrl, documentUrl, issuer } from '../addresses.ts'
import { empty, list, map } from '../collections.ts'
import { type Derived, required, type SettingKind, setting } from '../setting.ts'
import { anyText, bool, duration, ignored, label, oneOf, secret, text } from '../types.ts'
import { authority, ownProxy } from './outgoing.ts'

const MOST = 16
const NAME = /^[A-Za-z0-9_.~-]{1,64}$/
const VALUE = /^[^\p{Cc}]{1,1024}$/u
/** Parameters that a login sends itself, or that would change the provider's way of answering. */
const PROTOCOL: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
  'dpop_jkt',
])

const problemOf = (name: string, value: string): string | undefined => {
  if (PROTOCOL.has(name.toLowerCase())) return 'is reserved: Rollcall sends this parameter itself'
  if (!NAME.test(name)) return 'is not a valid parameter name: use at most 64 letters, digits and _ . ~ -'
  if (!VALUE.test(value)) return 'must be 1 to 1024 characters on one line'
  return name === 'max_age' && !/^\d{1,9}$/.test(value) ? 'must be a number of seconds' : undefined
}

const texts = map(anyText)

/** Additional parameters of an authorize URL, except those that the login sends itself. */
export const authorizeParameters: SettingKind<Readonly<Record<string, string>>> = {
  ...texts,
  read: (value, fault) => {
    const read = texts.read(value, fault)
    if (read === undefined) return undefined
    const entries = Object.entries(read)
    if (entries.length > MOST) return fault(`must contain at most ${MOST} parameters`)
    for (const [name, text] of entries) {
      const description = problemOf(name, text)
      if (description !== undefined) fault(description, `.${name}`)
    }
    return read
  },
  schema: { ...texts.schema, maxProperties: MOST },
}

const none = undefined
const publicUrl: Derived<string | undefined> = {
  shown: '`server.public_url`',
  from: (get) => get('server.public_url') as string | undefined,
}
/**
 * Default of the client secret. `rules.ts` checks whether it is required, because that depends on
 * `client_authentication`.
 */
const secretOfClient: Derived<string | undefined> = {
  shown: 'required unless client_authentication is none',
  from: () => undefined,
}

/** Base URL to which browsers return after a login. */
export const redirectAddress = (remote: string) =>
  setting(baseUrl, publicUrl, `Base URL to which the ${remote} redirects browsers.`)

/** Settings of one OpenID Connect provider (api.md §12.2). */
export const oidcProvider = {
  issuer_url: setting(
    issuer,
    required,
    'Issuer, exactly as the provider states it; http only for loopback and outgoing.http_hosts.',
  ),
  discovery_url: setting(
    documentUrl,
    none,
    'URL of the discovery document, or the part of this URL before /.well-known/openid-configuration. Default: the issuer. The issuer in the document must equal the configured issuer.',
  ),
  ca_path: authority('provider'),
  proxy: ownProxy('provider'),
  display_name: setting(label, none, 'Name of the provider on the sign-in page; at most 64 characters.'),
  client_id: setting(text, required, 'Client id from the provider.'),
  client_secret: setting(secret, secretOfClient, 'Client secret from the provider.'),
  client_authentication: setting(
    oneOf('basic', 'post', 'none'),
    none,
    'Client authentication at the token endpoint: in the header, in the body, or none (public client). Default: according to discovery.',
  ),
  clock_tolerance: setting(
    duration,
    30_000,
    'Maximum difference of the clocks of the provider and this machine; at most 5m.',
  ),
  redirect_address: redirectAddress('provider'),
  scopes: setting(list(text), [], 'Requested scopes; openid is added.'),
  claims: setting(
    oneOf('id_token', 'userinfo'),
    'id_token',
    'Source of claims: the ID token only, or also the userinfo endpoint, which takes precedence.',
  ),
  authorize_parameters: setting(
    authorizeParameters,
    empty,
    'Additional parameters of the authorize URL, such as hd, prompt, audience, acr_values or domain_hint. Parameters that Rollcall sends itself are not allowed.',
  ),
  assume_email_verified: setting(
    bool,
    false,
    'Treat an e-mail address as verified if the provider sends no claim email_verified.',
  ),
  logout: setting(
    oneOf('provider', 'local'),
    'local',
    'Effect of a sign-out in the web UI: ends the session at the provider too (RP-Initiated Logout), or the session here only.',
  ),
  keep_id_token: setting(
    bool,
    false,
    'Send the ID token of the login to the provider at sign-out (id_token_hint). Until then the browser keeps it, encrypted. Requires logout: provider.',
  ),
  nonce: setting(ignored, none, 'Accepted for compatibility, without effect: each login has a new nonce.'),
  use_pkce: setting(ignored, none, 'Accepted for compatibility, without effect: PKCE is always on.'),
}
