import type { Reason } from './errors.ts'

/** Texts of the sign-in page for a refused login. */
export type LoginFailureText = { readonly title: string; readonly check: string }

/** Causes for the operator: the sentence of the log with placeholders in braces, and the necessary change. */
type Causes = Readonly<Record<string, readonly [why: string, change: string]>>

const giveId = 'If it stays, give the request id to an administrator.'
const mend = 'Try again in a minute. If it stays, an administrator must mend it: give them the request id.'
const NOTHING = 'No change is needed. The person signs in again.'
const CALL = '{step} at {host}: {what}'

/** Texts of the sign-in page, by reason, and by a cause that the person can resolve. */
export const loginPages = {
  state_missing: {
    title: 'The sign-in could not be matched to this browser.',
    check: 'Open Rollcall at its public address, allow its cookies, and sign in again.',
  },
  state_mismatch: {
    title: 'The sign-in belongs to another tab or browser.',
    check: 'Sign in again from this page.',
  },
  login_expired: {
    title: 'The sign-in took too long.',
    check: 'Sign in again and finish within a few minutes.',
  },
  login_signed_out: {
    title: 'The provider signed you out during the sign-in.',
    check: 'Sign in again.',
  },
  login_replayed: {
    title: 'This sign-in was already used.',
    check: 'Going back to it does not work. Sign in again.',
  },
  issuer_mismatch: {
    title: 'The answer came from another provider.',
    check: 'Tell an administrator: somebody may be tampering with sign-ins.',
  },
  provider_error: {
    title: 'The provider reported an error.',
    check: `Try again. ${giveId}`,
  },
  code_refused: {
    title: 'The provider did not confirm the sign-in.',
    check: `Try again. ${giveId}`,
  },
  oauth_client_refused: {
    title: 'The provider does not accept Rollcall as its client.',
    check: mend,
  },
  provider_mismatch: {
    title: "The provider and Rollcall's settings do not fit together.",
    check: mend,
  },
  id_token_invalid: {
    title: "The provider's answer could not be trusted.",
    check: `Try again in a minute. ${giveId}`,
  },
  userinfo_invalid: {
    title: 'The data of the provider about you could not be trusted.',
    check: `Try again. ${giveId}`,
  },
  identity_too_large: {
    title: 'The provider sends more about you than Rollcall can keep.',
    check: 'An administrator must have the provider send less of you, such as fewer groups. Give them the request id.',
  },
  provider_unavailable: {
    title: 'The provider could not be reached, or is in trouble.',
    check: `Try again in a minute. ${giveId}`,
  },
  email_not_allowed: {
    title: 'Your e-mail address may not sign in here.',
    check: 'Use another account, or ask an administrator to admit your address.',
  },
  membership_required: {
    title: 'You are not in an organization or team that may sign in.',
    check: 'Ask an administrator to admit your organization or team.',
  },
  no_grant: {
    title: 'You are known, but no rule gives you access.',
    check: 'Ask an administrator for a role. Give them the request id.',
  },
  email_absent: {
    title: 'The provider gave no e-mail address, and without one nobody may sign in here.',
    check: 'Add one to your account there, or give the request id to an administrator.',
  },
  email_unverified: {
    title: 'Your e-mail address is not verified at the provider.',
    check: 'Verify it there, then sign in again.',
  },
  email_unsaid: {
    title: 'The provider does not say whether your e-mail address is verified.',
    check: 'Give the request id to an administrator.',
  },
} as const satisfies Readonly<Record<string, LoginFailureText>>

/** All causes of a refused login or exchange, by reason. Source of docs/login-causes.md. */
export const loginCauses = {
  state_missing: {
    state_missing: [
      'the browser sent no state, or no cookie of a login',
      'server.public_url must be the address in the address bar of the browser, and the browser must keep cookies.',
    ],
  },
  state_mismatch: {
    state_mismatch: ['the browser has no cookie of this state, or its cookie is of another provider', NOTHING],
  },
  login_expired: {
    login_expired: [
      'the login took longer than session.state_lifetime',
      'If people need more time, increase session.state_lifetime.',
    ],
  },
  login_signed_out: {
    login_signed_out: ['the provider signed the person out during the login', NOTHING],
  },
  login_replayed: {
    login_replayed: ['the callback of this login was received before', NOTHING],
  },
  issuer_mismatch: {
    issuer_mismatch: [
      'the callback names another issuer than issuer_url',
      'Correct issuer_url. If it is correct, a program between the browser and the provider changes answers.',
    ],
  },
  provider_error: {
    provider_denied: [
      'the provider refused the person, or requires an action of the person first',
      'At the provider, allow this person to use the client.',
    ],
    provider_settings: [
      'the provider refused the authorization request',
      'Check client_id, scopes and redirect_address. At the provider, check the redirect URI, the scopes, the authorization code flow and PKCE with S256. The client must not require pushed authorization requests (PAR).',
    ],
    provider_other: [
      'the provider reported an error',
      'See the documentation and the log of the provider for the error in providerError.',
    ],
  },
  code_refused: {
    code_refused: [
      '{step} at {host} refused the code',
      'If every login fails, correct redirect_address. Otherwise the code was used before or has expired: the person signs in again.',
    ],
  },
  oauth_client_refused: {
    client_refused: [
      '{step} at {host} refused our client{what}',
      'Check client_id, client_secret and client_authentication. At the provider, allow the client the authorization code flow. It must authenticate by client_secret_basic or client_secret_post, not by a signed JWT or a certificate.',
    ],
  },
  provider_mismatch: {
    answer_refused: [
      '{step} at {host} answered with status {status}',
      'Correct issuer_url, or server_url and api_url of the code host. If an API answers 401 or 403, check scopes.',
    ],
    issuer_other: [
      'the discovery document names an issuer that differs from issuer_url in its {part}',
      'Set issuer_url to the issuer in the document, character by character, or correct the address that the provider has of itself. Use the id of your tenant instead of common, organizations or consumers.',
    ],
    document_incomplete: [
      'the discovery document has no usable {member}',
      'issuer_url must be that of an OpenID Connect provider with https endpoints. For plain http, set discovery_url and outgoing.http_hosts. The provider must sign ID tokens with RS256 or another asymmetric algorithm, and must not require PAR.',
    ],
  },
  id_token_invalid: {
    id_token_algorithm: [
      'the ID token is {what}',
      'At the provider, the client must get ID tokens without encryption. They must be signed with RS256 or another asymmetric algorithm of the discovery document.',
    ],
    id_token_key: [
      'the ID token has {what}',
      'If the provider changed its keys a moment ago, try again in a minute. Otherwise the key set of the provider must contain the key that signs.',
    ],
    id_token_claims: [
      'the ID token has an unexpected {claim}',
      'Compare client_id and issuer_url with the provider, and with the address that the provider has of itself. A further audience (aud) needs azp. An unexpected nonce needs no change: the person signs in again.',
    ],
    id_token_time: [
      'the ID token is not valid at this time ({claim})',
      'Compare the clocks of the provider and of this machine, and check clock_tolerance. If auth_time is too old, check max_age in authorize_parameters: the provider must ask the person again.',
    ],
    id_token_malformed: [
      'the ID token {what}',
      'Check the claims and mappers of the client at the provider. No setting of Rollcall causes this.',
    ],
  },
  userinfo_invalid: {
    userinfo_unfit: [
      'the userinfo answer is invalid: {what}',
      'If the access token was refused, check scopes, and the audience in authorize_parameters. Otherwise check the provider: the answer must be about the person of the ID token and not encrypted.',
    ],
  },
  identity_too_large: {
    identity_large: [
      'the provider sends too much about this person: {what}',
      'At the provider, send less about this person, such as fewer groups. Fewer claims in authorization.rules also help.',
    ],
  },
  provider_unavailable: {
    unreachable: [CALL, 'Check the name, network, firewall and proxy on the way to that host, and the provider.'],
    certificate: [
      CALL,
      'Check the certificate of that host. If your own authority issued it, ca_path must name a readable file with the certificates (PEM) of that authority.',
    ],
    proxy_failing: [
      CALL,
      'Check proxy, outgoing.https_proxy, and the variables HTTPS_PROXY and NO_PROXY. The proxy must allow Rollcall connections to that host.',
    ],
    answer_unusable: [
      CALL,
      'Check that the address is that of the provider. If it is, check the provider: no setting of Rollcall causes this.',
    ],
  },
  email_not_allowed: {
    email_absent: [
      'the ID token has no e-mail address, which email_matches requires',
      'Add email to scopes. At the provider, the client must get the claim email in the ID token.',
    ],
    email_unverified: [
      'the provider marks the e-mail address as not verified (email_verified)',
      'The person verifies the address at the provider, or an administrator there marks it as verified.',
    ],
    email_unsaid: [
      'the provider does not state whether the e-mail address is verified (no email_verified)',
      'At the provider, the client must get email_verified in the ID token. If you trust its addresses, set assume_email_verified.',
    ],
    email_gone: [
      'the stored data of this login is erased or lost, and email_matches requires an e-mail address',
      'If the person was erased, no change is needed: they sign in again. Otherwise restore the keys of personal data from a complete backup.',
    ],
    email_unmatched: [
      'the e-mail address matches none of email_matches as a whole',
      'Change email_matches, or the person uses another account.',
    ],
  },
  membership_required: {
    membership_other: [
      'the code host names no organization of this person that allowed_organizations lists',
      'Change allowed_organizations. The organization must let the app see its members.',
    ],
    membership_team: [
      'the person is in an allowed organization, but in none of allowed_teams',
      'Change allowed_teams, which lists teams by slug.',
    ],
  },
  no_grant: {
    grant_unmatched: [
      'none of {rules} rules for {way} matches{what}',
      'Change authorization.rules or authorization.unmatched. At the provider, the client must get absent claims in the ID token. An organization must let the app see its members.',
    ],
    grant_nowhere: [
      'the matching rules grant nothing: no namespace can have the key that they give for this account',
      'In authorization.rules, use a namespace key instead of {namespace} for this account.',
    ],
    grant_many: [
      'the rules give more than {most} grants',
      'Change authorization.rules so that one person or account gets fewer grants.',
    ],
  },
} as const satisfies Readonly<Partial<Record<keyof typeof loginPages & Reason, Causes>>>

export type LoginCause = { [R in keyof typeof loginCauses]: keyof (typeof loginCauses)[R] }[keyof typeof loginCauses]

const wants = {
  cause: 'provider_denied',
  title: 'The provider wants you to do something first.',
  check: 'Sign in there, then come back and try again.',
} as const
const trouble = {
  cause: 'provider_other',
  title: 'The provider is having trouble.',
  check: 'Try again in a minute.',
} as const
const settings = (code: string) => ({
  cause: 'provider_settings' as const,
  title: `The provider does not accept Rollcall's settings (${code}).`,
  check: 'An administrator must check client id, scopes and redirect address.',
})

/** Cause and page texts of each `error` of a provider (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). */
export const providerErrors: Readonly<Record<string, LoginFailureText & { readonly cause: LoginCause }>> = {
  access_denied: {
    cause: 'provider_denied',
    title: 'The provider refused: access denied.',
    check: 'You, or your administrator there, did not allow it. Try another account.',
  },
  login_required: wants,
  consent_required: wants,
  interaction_required: wants,
  account_selection_required: wants,
  temporarily_unavailable: trouble,
  server_error: trouble,
  ...Object.fromEntries(
    ['invalid_request', 'invalid_scope', 'invalid_client', 'unauthorized_client', 'unsupported_response_type'].map(
      (code) => [code, settings(code)],
    ),
  ),
}
