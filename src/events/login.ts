import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { object, oneOf, pseudonym, time, uuid, word } from './fields.ts'
import { METHODS, type Method } from './token.ts'

/** Which ways to a client token are logins: a browser is sent to somebody who knows its user, and comes back with an answer. */
const byLogin = {
  token: false,
  oidc: true,
  codehost: true,
  orchestrator: false,
} as const satisfies Readonly<Record<Method, boolean>>
export type LoginKind = { [M in Method]: (typeof byLogin)[M] extends true ? M : never }[Method]
export const isLogin = (method: Method): method is LoginKind => byLogin[method]

const login = {
  login: word('The login: a digest of its `state`, as in the name of the stream.', 'SHA-256, 64 hexadecimal digits'),
}

/**
 * One login, written from its callback on: one that is only begun leaves no stream. Stream: login-{digest of state}.
 * What would let somebody finish it (state, nonce, verifier) is never kept.
 */
export const loginEvents = {
  LoginStarted: v1(
    object('The browser was sent to the provider at `startedAt`; written when it comes back.', {
      ...login,
      method: oneOf('The method of the login.', METHODS.filter(isLogin)),
      provider: Type.Optional(word('The provider, for method `oidc`.', 'name of a provider in the configuration')),
      startedAt: time('When the browser was sent away.'),
      expiresAt: time('From when on the callback is too late.'),
    }),
  ),
  LoginReturned: v1(
    object('The callback came in time and for the first time: the login is used up, whatever becomes of it.', {
      ...login,
      returnedAt: time('When it came back.'),
    }),
  ),
  LoginCompleted: v1(
    object('The login gave a client token.', {
      ...login,
      tokenId: uuid('The token that it gave, on a stream of its own.'),
      subject: pseudonym(
        'Who logged in: the same person at the same provider has the same one in every login.',
        '`person-` and 22 characters',
      ),
    }),
  ),
  LoginRefused: v1(
    object(
      'The login came back and gave no token: the provider, its answer or a rule of the configuration refused it. One for each login refused after its return; a callback that belongs to no login has none, and is in the refusals only.',
      {
        ...login,
        reason: word('Why.', 'reason of errors.md'),
        providerError: Type.Optional(
          word("The provider's own code of the error.", 'code of OAuth 2.0 or OpenID Connect, such as `access_denied`'),
        ),
      },
    ),
  ),
}

export type LoginEvent = EventOf<typeof loginEvents>
