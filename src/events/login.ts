import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { count, object, oneOf, pseudonym, time, uuid, word } from './fields.ts'
import { METHODS, type Method } from './token.ts'

/** Marks the methods that are logins: the browser is redirected to a provider and returns with a callback. */
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
 * One login, written from its callback on. A login without a callback leaves no stream. Stream: login-{digest of
 * state}. The secrets of a login (state, nonce, verifier) are never stored.
 */
export const loginEvents = {
  LoginStarted: v1(
    object(
      'A login started: the browser was redirected to the provider at `startedAt`. The event is written when the browser comes back.',
      {
        ...login,
        method: oneOf('The method of the login.', METHODS.filter(isLogin)),
        provider: Type.Optional(word('The provider, for method `oidc`.', 'name of a provider in the configuration')),
        startedAt: time('Time of the redirect to the provider.'),
        expiresAt: time('Time from which the callback is refused.'),
      },
    ),
  ),
  LoginReturned: v1(
    object('The first callback of the login arrived in time. The login is consumed, regardless of its result.', {
      ...login,
      returnedAt: time('Time of the callback.'),
    }),
  ),
  LoginCompleted: v1(
    object('The login succeeded and issued a client token.', {
      ...login,
      tokenId: uuid('Id of the issued token. The events of the token are in the stream of the token.'),
      subject: pseudonym(
        'The person who logged in. The value is the same for every login of this person at this provider.',
        '`person-` and 22 characters',
      ),
    }),
  ),
  LoginRefused: v1(
    object(
      'The login was refused after its callback, because of an error of the provider, an invalid answer of the provider, or the configuration. Each refused login has one of these events. A callback without a matching login is only counted in the summary of refusals.',
      {
        ...login,
        reason: word('Reason of the refusal.', 'reason of errors.md'),
        providerError: Type.Optional(
          word("The provider's error code.", 'code of OAuth 2.0 or OpenID Connect, such as `access_denied`'),
        ),
      },
    ),
  ),
}

export type LoginEvent = EventOf<typeof loginEvents>

const logout = {
  jti: word('The logout token: a keyed digest of its `jti`.', '`jti-` and 22 characters'),
  provider: word('The provider.', 'name of a provider in the configuration'),
}

/**
 * Logouts that a provider reported for one person, or for one session at the provider, on one day (OpenID Connect
 * Back-Channel Logout 1.0). Stream: login-{day}+{pseudonym}. The day is that of the logout tokens.
 */
export const logoutEvents = {
  ProviderLogoutReceived: v1(
    object(
      'A logout token of a provider was accepted: the provider signed a person out. The sessions that the logout token names end next.',
      {
        ...logout,
        issuedAt: time('Time of issue of the logout token, by the clock of the provider.'),
        subject: Type.Optional(
          pseudonym('The person, if the logout token names a person.', '`person-` and 22 characters'),
        ),
        identity: Type.Optional(
          pseudonym('Holder of the sessions, if the logout token names a person.', '`sub-` and 22 characters'),
        ),
        session: Type.Optional(
          pseudonym('Session at the provider, if the logout token names no person.', '`sid-` and 22 characters'),
        ),
      },
    ),
    2,
  ),
  ProviderLogoutCompleted: v1(
    object('Every session that a logout token named has ended.', {
      ...logout,
      sessions: count(
        'Number of sessions that the logout token ended. If the logout was interrupted: those that its last run ended.',
      ),
    }),
    2,
  ),
}

export type LogoutEvent = EventOf<typeof logoutEvents>
