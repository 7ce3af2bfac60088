export type LoginFailureText = { readonly title: string; readonly check: string }
const tryAgain = 'Try again. If it stays, give the request id to an administrator.'
const mend = 'Try again in a minute. If it stays, an administrator must mend it: give them the request id.'
const wants: LoginFailureText = {
  title: 'The provider wants you to do something first.',
  check: 'Sign in there, then come back and try again.',
}
const trouble: LoginFailureText = { title: 'The provider is having trouble.', check: 'Try again in a minute.' }
const settings = (code: string): LoginFailureText => ({
  title: `The provider does not accept Rollcall's settings (${code}).`,
  check: 'An administrator must check client id, scopes and redirect address.',
})
const own: LoginFailureText = {
  title: 'Rollcall could not finish the sign-in.',
  check: 'Try again in a minute. If it stays, give the request id to an administrator.',
}

/**
 * Texts of the sign-in page for a refused login, by reason, by the provider's error code, or by a cause that the person
 * can resolve.
 */
export const loginFailures: Readonly<Record<string, LoginFailureText>> = {
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
    title: 'The answer came from another provider than asked.',
    check: 'Tell an administrator: somebody may be tampering with sign-ins.',
  },
  access_denied: {
    title: 'The provider refused: access denied.',
    check: 'You, or your administrator there, did not allow it. Try another account.',
  },
  login_required: wants,
  consent_required: wants,
  interaction_required: wants,
  account_selection_required: wants,
  temporarily_unavailable: trouble,
  server_error: trouble,
  invalid_request: settings('invalid_request'),
  invalid_scope: settings('invalid_scope'),
  unauthorized_client: settings('unauthorized_client'),
  unsupported_response_type: settings('unsupported_response_type'),
  invalid_client: settings('invalid_client'),
  code_refused: {
    title: 'The provider did not confirm the sign-in.',
    check: tryAgain,
  },
  id_token_invalid: {
    title: "The provider's answer could not be trusted.",
    check: 'Try again in a minute. If it stays, give the request id to an administrator.',
  },
  userinfo_invalid: {
    title: 'What the provider says about you could not be trusted.',
    check: tryAgain,
  },
  identity_too_large: {
    title: 'The provider tells more about you than Rollcall can keep.',
    check: 'An administrator must have the provider send less of you, such as fewer groups. Give them the request id.',
  },
  email_not_allowed: {
    title: 'Your e-mail address may not sign in here.',
    check: 'Use another account, or ask an administrator to admit your address.',
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
  membership_required: {
    title: 'You are not in an organization or team that may sign in.',
    check: 'Ask an administrator to admit your organization or team.',
  },
  no_grant: {
    title: 'You are known, but no rule gives you access.',
    check: 'Ask an administrator for a role. Give them the request id.',
  },
  oauth_client_refused: { title: 'The provider does not accept Rollcall as its client.', check: mend },
  provider_mismatch: { title: "The provider and Rollcall's settings do not fit together.", check: mend },
  provider_unavailable: {
    title: 'The provider could not be reached, or is in trouble.',
    check: 'Try again in a minute. If it stays, give the request id to an administrator.',
  },
  rate_limited: {
    title: 'Too many sign-ins from your network.',
    check: 'Wait a minute, then try again.',
  },
  not_found: { title: 'This way to sign in is not there any more.', check: 'Choose another one below.' },
  backend_unavailable: own,
  auth_stale: own,
  internal: own,
}
