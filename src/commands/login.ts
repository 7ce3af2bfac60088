import { refuse } from '../base/errors.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type LoginEvent, loginEvents } from '../events/login.ts'
import type { Decider } from './decider.ts'

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
