import { type LoginFailureText, loginPages, providerErrors } from '../../../src/base/login-causes.ts'

const own: LoginFailureText = {
  title: 'Rollcall could not finish the sign-in.',
  check: 'Try again in a minute. If it stays, give the request id to an administrator.',
}
const failed: LoginFailureText = { title: 'The sign-in failed.', check: loginPages.provider_error.check }

/** Texts by reason, by the provider's error code, or by a cause that the person can resolve. */
const texts: Readonly<Record<string, LoginFailureText>> = {
  ...loginPages,
  ...providerErrors,
  rate_limited: { title: 'Too many sign-ins from your network.', check: 'Wait a minute, then try again.' },
  not_found: { title: 'This way to sign in is not there any more.', check: 'Choose another one below.' },
  backend_unavailable: own,
  auth_stale: own,
  internal: own,
}

/** Text for a failed sign-in. An unknown code has a general text, so that the address cannot inject any. */
export const loginFailure = (error: string): LoginFailureText =>
  Object.hasOwn(texts, error) ? texts[error]! : /^[a-z_]{1,64}$/.test(error) ? loginPages.provider_error : failed

/** Text for a failed sign-in by its cause, if the cause is known, else by its code. */
export const loginFailureOf = (error: string, cause: string | undefined): LoginFailureText =>
  loginFailure(cause !== undefined && Object.hasOwn(texts, cause) ? cause : error)

/** Validates the request id of an address. */
export const requestRef = (ref: string | undefined): string | undefined =>
  ref !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(ref) ? ref : undefined

/** Whether the failed sign-in is obsolete: the user went back to it, or another tab completed it. */
export const isStale = (error: string): boolean =>
  ['state_missing', 'state_mismatch', 'login_expired', 'login_replayed'].includes(error)

/** Whether the failure concerns the account, so that another account may succeed. */
export const isOfAccount = (error: string): boolean =>
  ['access_denied', 'email_not_allowed', 'membership_required', 'no_grant'].includes(error)
