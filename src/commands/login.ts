import { refuse } from '../base/errors.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type LoginEvent, type LogoutEvent, loginEvents, logoutEvents } from '../events/login.ts'
import type { Decider } from './decider.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'

export type LoginCommands = {
  /**
   * Consumes the login. The data of the start come from the encrypted state in the browser, because the service did not
   * store them before.
   */
  ReturnToLogin: DataOf<LoginEvent, 'LoginStarted'> & { readonly now: string }
  CompleteLogin: DataOf<LoginEvent, 'LoginCompleted'>
  RefuseLogin: DataOf<LoginEvent, 'LoginRefused'>
}

type Login = { readonly status: 'absent' | 'started' | 'returned' | 'completed' | 'refused' }

/**
 * Decider of a login. A login can be completed once: the first callback whose event is appended to the stream of the
 * login completes it.
 */
export const login: Decider<Login, LoginCommands, LoginEvent> = {
  category: 'login',
  shapes: loginEvents,
  read: reader(loginEvents),
  initial: { status: 'absent' },
  exists: ({ status }) => status !== 'absent',

  decide: {
    ReturnToLogin: ({ status }, { now, ...started }) => {
      if (started.expiresAt <= now) return refuse('login_expired')
      if (status !== 'absent') return refuse('login_replayed')
      return [
        { type: 'LoginStarted', data: started },
        { type: 'LoginReturned', data: { login: started.login, returnedAt: now } },
      ]
    },

    CompleteLogin: ({ status }, data) => {
      if (status === 'completed') return []
      return status === 'returned' ? [{ type: 'LoginCompleted', data }] : refuse('login_replayed')
    },

    RefuseLogin: ({ status }, data) => (status === 'returned' ? [{ type: 'LoginRefused', data }] : []),
  },

  evolve: {
    LoginStarted: () => ({ status: 'started' }),
    LoginReturned: () => ({ status: 'returned' }),
    LoginCompleted: () => ({ status: 'completed' }),
    LoginRefused: () => ({ status: 'refused' }),
  },
}

type LogoutCommands = {
  /** Accepts a logout token. Refuses a token that was accepted before with `logout_token_replayed`. */
  ReceiveLogout: DataOf<LogoutEvent, 'ProviderLogoutReceived'>
  CompleteLogout: DataOf<LogoutEvent, 'ProviderLogoutCompleted'>
}

/**
 * Accepted logout tokens of one person, or of one session at the provider, on one day. The value is true if every
 * session that the token named has ended.
 */
type Logouts = { readonly tokens: PersistentMap<boolean> }

/** Decider of the logouts that a provider reported. Each logout token is accepted once. */
export const logout: Decider<Logouts, LogoutCommands, LogoutEvent> = {
  category: 'login',
  shapes: logoutEvents,
  read: reader(logoutEvents),
  initial: { tokens: emptyMap() },
  exists: ({ tokens }) => tokens.size > 0,

  decide: {
    ReceiveLogout: ({ tokens }, data) =>
      tokens.has(data.jti) ? refuse('logout_token_replayed') : [{ type: 'ProviderLogoutReceived', data }],

    CompleteLogout: ({ tokens }, data) =>
      tokens.get(data.jti) === false ? [{ type: 'ProviderLogoutCompleted', data }] : [],
  },

  evolve: {
    ProviderLogoutReceived: ({ tokens }, { jti }) => ({ tokens: tokens.set(jti, false) }),
    ProviderLogoutCompleted: ({ tokens }, { jti }) => ({ tokens: tokens.set(jti, true) }),
  },
}
