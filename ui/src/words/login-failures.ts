import { type LoginFailureText, loginFailures } from '../../../src/contract/login-failures.ts'

const tryAgain = 'Try again. If it stays, give the request id to an administrator.'

/** What is told of a sign-in that failed: these words and no other text of the address. */
export const loginFailure = (error: string): LoginFailureText => {
  const told = Object.hasOwn(loginFailures, error) ? loginFailures[error] : undefined
  if (told) return told
  return {
    title: /^[a-z_]{1,64}$/.test(error) ? 'The provider reported an error.' : 'The sign-in failed.',
    check: tryAgain,
  }
}

/** The same of one whose cause the service told: by that, where there are words for it. */
export const loginFailureOf = (error: string, cause: string | undefined): LoginFailureText =>
  loginFailure(cause !== undefined && Object.hasOwn(loginFailures, cause) ? cause : error)

/** The request id of an address, where it is one. */
export const requestRef = (ref: string | undefined): string | undefined =>
  ref !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(ref) ? ref : undefined

/** Whether a failure is of a sign-in that is over, which says nothing to who is signed in: somebody went back to it, or another tab was faster. */
export const isStale = (error: string): boolean =>
  ['state_missing', 'state_mismatch', 'login_expired', 'login_replayed'].includes(error)

/** Whether a failure is of the account that was used: another one may do. */
export const isOfAccount = (error: string): boolean =>
  ['access_denied', 'email_not_allowed', 'membership_required', 'no_grant'].includes(error)
