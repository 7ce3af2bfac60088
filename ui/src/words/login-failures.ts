import { type LoginFailureText, loginFailures } from '../../../src/contract/login/login-failures.ts'

const tryAgain = 'Try again. If it stays, give the request id to an administrator.'

/** Text for a failed sign-in. An unknown code has a general text, so that the address cannot inject any. */
export const loginFailure = (error: string): LoginFailureText => {
  const known = Object.hasOwn(loginFailures, error) ? loginFailures[error] : undefined
  if (known) return known
  return {
    title: /^[a-z_]{1,64}$/.test(error) ? 'The provider reported an error.' : 'The sign-in failed.',
    check: tryAgain,
  }
}

/** Text for a failed sign-in by its cause, if the cause is known, else by its code. */
export const loginFailureOf = (error: string, cause: string | undefined): LoginFailureText =>
  loginFailure(cause !== undefined && Object.hasOwn(loginFailures, cause) ? cause : error)

/** Validates the request id of an address. */
export const requestRef = (ref: string | undefined): string | undefined =>
  ref !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(ref) ? ref : undefined

/** Whether the failed sign-in is obsolete: the user went back to it, or another tab completed it. */
export const isStale = (error: string): boolean =>
  ['state_missing', 'state_mismatch', 'login_expired', 'login_replayed'].includes(error)

/** Whether the failure concerns the account, so that another account may succeed. */
export const isOfAccount = (error: string): boolean =>
  ['access_denied', 'email_not_allowed', 'membership_required', 'no_grant'].includes(error)
