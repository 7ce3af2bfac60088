import type { LoginKind } from '../events/login.ts'
import { sealedBy } from './sealed.ts'

/** What a browser carries from authorize to callback; only this service can read it. */
export type LoginState = {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  readonly method: LoginKind
  readonly provider?: string
  readonly returnTo: string
  /** RFC 3339 UTC with milliseconds. */
  readonly startedAt: string
  readonly expiresAt: string
}

/** Who the provider says was refused for who they are, for the page that tells them so. */
export type RefusedLogin = {
  readonly requestId: string
  /** The cause of the table; absent in what an earlier version sealed. */
  readonly cause?: string
  readonly name?: string
  readonly email?: string
  readonly login?: string
  /** RFC 3339 UTC with milliseconds. */
  readonly expiresAt: string
}

/** Login states, sealed. */
export const loginStates = (pepper: Uint8Array) => sealedBy<LoginState>(pepper, 'rollcall login state')
/** Refused logins, sealed. */
export const refusedLogins = (pepper: Uint8Array) => sealedBy<RefusedLogin>(pepper, 'rollcall refused login')

export type LoginStates = ReturnType<typeof loginStates>
export type RefusedLogins = ReturnType<typeof refusedLogins>
