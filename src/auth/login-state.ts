import type { LoginKind } from '../events/login.ts'
import { sealedBy } from './sealed.ts'

/**
 * State of a login that the browser stores between authorization request and callback. The login state is encrypted for
 * this service.
 */
export type LoginState = {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly method: LoginKind
  readonly provider?: string
  readonly returnTo: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly startedAt: string
  readonly expiresAt: string
}

/** Person refused after identification, as the provider described them, for the page that explains the refusal. */
export type RefusedLogin = {
  readonly requestId: string
  /** Cause from the table; absent in states that an earlier version encrypted. */
  readonly cause?: string
  readonly name?: string
  readonly email?: string
  readonly login?: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly expiresAt: string
}

/** State of a sign-out at a provider, which the browser stores until the provider sends it back. */
type LogoutState = {
  readonly state: string
  readonly provider: string
  /** Time as RFC 3339 UTC with milliseconds. */
  readonly expiresAt: string
}

/** Seals login states. */
export const loginStates = (pepper: Uint8Array) => sealedBy<LoginState>(pepper, 'rollcall login state')
/** Seals refused logins. */
export const refusedLogins = (pepper: Uint8Array) => sealedBy<RefusedLogin>(pepper, 'rollcall refused login')
/** Seals the states of sign-outs. */
export const logoutStates = (pepper: Uint8Array) => sealedBy<LogoutState>(pepper, 'rollcall logout state')

export type LoginStates = ReturnType<typeof loginStates>
export type RefusedLogins = ReturnType<typeof refusedLogins>
export type LogoutStates = ReturnType<typeof logoutStates>
