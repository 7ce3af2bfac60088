import { refuse } from '../errors.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type LoginEvent, loginEvents } from '../events/login.ts'
import type { Decider } from './decider.ts'

type OfLogin = { readonly login: string }
export type LoginCommands = {
  StartLogin: DataOf<LoginEvent, 'LoginStarted'>
  /** Uses the login up. `provider` is the one whose callback was called. */
  ReturnToLogin: OfLogin & { readonly method: 'oidc' | 'codehost'; readonly provider: string | undefined; readonly now: string }
  CompleteLogin: DataOf<LoginEvent, 'LoginCompleted'>
  RefuseLogin: DataOf<LoginEvent, 'LoginRefused'>
}

export type Login = {
  readonly status: 'absent' | 'started' | 'returned' | 'completed' | 'refused'
  readonly method?: string
  readonly provider?: string | undefined
  readonly expiresAt?: string
}

/** A login is used once: its stream decides which callback was the first. */
export const login: Decider<Login, LoginCommands, LoginEvent> = {
  category: 'login',
  shapes: loginEvents,
  read: reader(loginEvents),
  initial: { status: 'absent' },
  exists: ({ status }) => status !== 'absent',

  decide: {
    StartLogin: ({ status }, data) => (status === 'absent' ? [{ type: 'LoginStarted', data }] : refuse('state_mismatch')),

    ReturnToLogin: (state, { login, method, provider, now }) => {
      if (state.status === 'absent' || state.method !== method || state.provider !== provider) return refuse('state_mismatch')
      if (state.expiresAt !== undefined && state.expiresAt <= now) return refuse('login_expired')
      if (state.status !== 'started') return refuse('login_replayed')
      return [{ type: 'LoginReturned', data: { login, returnedAt: now } }]
    },

    CompleteLogin: ({ status }, data) => {
      if (status === 'completed') return []
      return status === 'returned' ? [{ type: 'LoginCompleted', data }] : refuse('login_replayed')
    },

    RefuseLogin: ({ status }, data) => (status === 'returned' ? [{ type: 'LoginRefused', data }] : []),
  },

  evolve: {
    LoginStarted: (_, { method, provider, expiresAt }) => ({ status: 'started', method, provider, expiresAt }),
    LoginReturned: (state) => ({ ...state, status: 'returned' }),
    LoginCompleted: (state) => ({ ...state, status: 'completed' }),
    LoginRefused: (state) => ({ ...state, status: 'refused' }),
  },
}
