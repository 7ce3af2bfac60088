import { refuse } from '../base/errors.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type LogoutEvent, logoutEvents } from '../events/login.ts'
import type { Decider } from './decider.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'

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
