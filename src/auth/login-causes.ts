import type { Reason } from '../base/errors.ts'
import { personCauses } from './person-causes.ts'

/** Causes by reason: the sentence of the log with placeholders in braces, and the operator's next step. */
type Causes = Readonly<Record<string, readonly [why: string, change: string]>>

const settled = 'nothing here: sign in again'
const ofClient = 'the client at the provider: '

/** Causes of a login that fails before the person is identified: the login itself, the provider, or its answers. */
const exchangeCauses = {
  state_missing: {
    state_missing: [
      'the browser brought no state, or no cookie of a login',
      'server.public_url must be the address in the bar of the browser, which must keep cookies',
    ],
  },
  state_mismatch: {
    state_mismatch: ['the browser has no cookie of this state, or one of another provider', settled],
  },
  login_expired: {
    login_expired: [
      'the login took longer than session.state_lifetime',
      'session.state_lifetime, where people need longer',
    ],
  },
  login_signed_out: {
    login_signed_out: ['the provider signed the person out while the login was under way', settled],
  },
  login_replayed: { login_replayed: ['the login came back before', settled] },
  issuer_mismatch: {
    issuer_mismatch: [
      'the answer names another issuer than issuer_url',
      'issuer_url; else something between the browser and the provider changes answers',
    ],
  },
  provider_error: {
    provider_denied: [
      'the provider refused the person, or wants them to do something there first',
      'who may use the client, at the provider',
    ],
    provider_par: [
      'the provider wants pushed authorization requests, which are not sent',
      `${ofClient}it must not require pushed authorization requests (PAR)`,
    ],
    provider_settings: [
      'the provider refused the request of our client',
      'client_id, scopes and redirect_address; at the provider: redirect URI, scopes, authorization code flow, PKCE with S256',
    ],
    provider_trouble: ['the provider is in trouble, as it says itself', 'nothing here: see the provider'],
    provider_other: [
      'the provider sent the browser back with an error of its own',
      'what the provider says of providerError',
    ],
  },
  code_refused: {
    code_refused: [
      '{step} at {host} refused the code',
      'redirect_address, where it happens always; else the code was used or too old: sign in again',
    ],
  },
  oauth_client_refused: {
    client_refused: [
      '{step} at {host} refused our client',
      `client_id, client_secret and client_authentication; ${ofClient}it must prove itself by a secret (no signed JWT, no certificate), and may use the authorization code flow`,
    ],
    client_authentication: [
      '{step} at {host} refused our client, and the discovery document names no way to prove itself that is known here',
      `${ofClient}it must prove itself by a secret (client_secret_basic, client_secret_post), not by a signed JWT or a certificate`,
    ],
  },
  provider_mismatch: {
    answer_refused: [
      '{step} at {host} answered with status {status}',
      'issuer_url, or server_url and api_url; where an API answers 401 or 403: scopes',
    ],
    issuer_slash: [
      'the discovery document names an issuer that differs from issuer_url in the slash at its end',
      "issuer_url, letter for letter as the document's issuer",
    ],
    issuer_template: [
      'the discovery document names a template for an issuer, with braces',
      'issuer_url with the id of your own tenant in the place of common, organizations or consumers',
    ],
    issuer_other: [
      'the discovery document names an issuer that differs from issuer_url in its {part}',
      "issuer_url, letter for letter as the document's issuer, or the address that the provider has of itself",
    ],
    document_incomplete: [
      'the discovery document has no usable {member}',
      'issuer_url must be that of an OpenID Connect provider whose endpoints are https; discovery_url and outgoing.http_hosts, where they are in plain http',
    ],
    algorithms: [
      'the discovery document names no algorithm for ID tokens that is taken',
      `${ofClient}ID tokens signed with RS256 or another asymmetric algorithm`,
    ],
    par_required: [
      'the provider requires pushed authorization requests, which are not sent',
      'the provider: it must not require pushed authorization requests (PAR)',
    ],
  },
  id_token_invalid: {
    id_token_encrypted: ['the ID token is encrypted', `${ofClient}no encryption of ID tokens`],
    id_token_symmetric: [
      'the ID token is signed with a secret (HS256 and the like), not with a key',
      `${ofClient}ID tokens signed with RS256 or another asymmetric algorithm`,
    ],
    id_token_unsigned: [
      'the ID token is not signed',
      `${ofClient}ID tokens signed with RS256 or another asymmetric algorithm`,
    ],
    id_token_algorithm: [
      'the ID token is signed with an algorithm that is not taken, or that the discovery document does not name',
      `${ofClient}ID tokens signed with an asymmetric algorithm that the discovery document names`,
    ],
    id_token_key: [
      'no key of the provider fits the ID token, or several do and it names none',
      'nothing here, where keys were exchanged a moment ago: try again in a minute',
    ],
    id_token_signature: [
      'the signature of the ID token is wrong',
      'the keys of the provider are not those that it signs with: see the provider',
    ],
    id_token_issuer: [
      'the ID token names another issuer than the discovery document',
      'the address that the provider has of itself; issuer_url',
    ],
    id_token_audience: [
      'the ID token is for another client, or for others too (aud, azp)',
      `client_id; ${ofClient}no further audience without azp`,
    ],
    id_token_time: [
      'by our clock the ID token is not valid yet, or no longer',
      'the clocks of the provider and of this machine; clock_tolerance',
    ],
    id_token_age: [
      'the person signed in at the provider longer ago than max_age (auth_time)',
      'max_age in authorize_parameters; the provider must ask the person again',
    ],
    id_token_nonce: ['the ID token is of another login (nonce)', settled],
    id_token_malformed: ['the ID token is none, or lacks a claim that it must have', 'see the provider'],
  },
  userinfo_invalid: {
    userinfo_refused: [
      '{step} at {host} refused the access token with status {status}',
      'scopes, and authorize_parameters: an audience of its own makes a token that is not for userinfo',
    ],
    userinfo_encrypted: ['userinfo is encrypted', `${ofClient}no encryption of userinfo`],
    userinfo_subject: ['userinfo is of another person than the ID token (sub)', 'nothing here: see the provider'],
    userinfo_unfit: ['userinfo does not hold: {what}', 'nothing here: see the provider'],
  },
  identity_too_large: {
    answer_large: [
      '{step} at {host}: the answer is larger than 1 MiB',
      'the provider must send less of this person, such as fewer groups',
    ],
    identity_large: [
      'what rules read of this person is larger than the {most} bytes that are kept',
      'authorization.rules that read less; the provider must send less of this person, such as fewer groups',
    ],
  },
  provider_unavailable: {
    unreachable: ['{step} at {host}: {code}', 'name, network, firewall and proxy on the way to that host'],
    timeout: [
      '{step} at {host}: no answer within 5 s',
      'network, firewall and proxy on the way to that host; the provider itself',
    ],
    certificate: [
      '{step} at {host}: its certificate is not trusted ({code})',
      'the certificate of that host; ca_path, where an authority of your own gave it',
    ],
    proxy_failing: [
      '{step} at {host}: {what}',
      'proxy, outgoing.https_proxy, or the variables HTTPS_PROXY and NO_PROXY; the proxy must let this service through to that host',
    ],
    authority_unread: ['{step} at {host}: {what}', 'ca_path: a file of certificates (PEM) that this service may read'],
    provider_failing: ['{step} at {host} answered with status {status}', 'nothing here: see the provider'],
    answer_unusable: [
      '{step} at {host}: {what}',
      'that address must be the one of the provider; else see the provider',
    ],
  },
} as const satisfies Readonly<Partial<Record<Reason, Causes>>>

/** All causes of a refused login or exchange, by reason (api.md §5.5). */
export const loginCauses = { ...exchangeCauses, ...personCauses } satisfies Readonly<Partial<Record<Reason, Causes>>>

type All = typeof loginCauses
export type LoginCause = { [R in keyof All]: keyof All[R] }[keyof All]
