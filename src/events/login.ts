import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { type Method, METHODS } from './token.ts'

/** Which ways to a client token are logins: a browser is sent to somebody who knows its user, and comes back with an answer. */
const byLogin = {
  token: false,
  oidc: true,
  codehost: true,
  orchestrator: false,
} as const satisfies Readonly<Record<Method, boolean>>
export type LoginKind = { [M in Method]: (typeof byLogin)[M] extends true ? M : never }[Method]
export const isLogin = (method: Method): method is LoginKind => byLogin[method]

/** One login from authorize to its outcome, told from its callback on: one that is only begun leaves no stream. Stream: login-{digest of state}; what would let somebody finish it (state, nonce, verifier) is never kept. */
export const loginEvents = {
  /** The browser was sent to the provider at `startedAt`; written when it comes back. */
  LoginStarted: v1(
    Type.Object({
      login: Type.String(),
      method: Type.Enum(METHODS.filter(isLogin)),
      provider: Type.Optional(Type.String()),
      startedAt: Type.String(),
      expiresAt: Type.String(),
    }),
  ),
  /** The callback came: the login is used up, whatever becomes of it. */
  LoginReturned: v1(Type.Object({ login: Type.String(), returnedAt: Type.String() })),
  LoginCompleted: v1(Type.Object({ login: Type.String(), tokenId: Type.String(), subject: Type.String() })),
  LoginRefused: v1(
    Type.Object({ login: Type.String(), reason: Type.String(), providerError: Type.Optional(Type.String()) }),
  ),
}

export type LoginEvent = EventOf<typeof loginEvents>
