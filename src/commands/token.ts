import { canonical } from '../base/canonical.ts'
import { invalid, refuse } from '../base/errors.ts'
import { type DataOf, reader } from '../events/define.ts'
import { type TokenEvent, tokenEvents } from '../events/token.ts'
import type { Decider } from './decider.ts'

/** Times are RFC 3339 UTC with milliseconds, so they can be compared as texts. */
export type TokenCommands = {
  IssueToken: DataOf<TokenEvent, 'TokenIssued'>
  /** Moves the expiry to the earlier `expiresAt`. A time before `now` counts as `now`. */
  ExpireTokenEarlier: { readonly id: string; readonly expiresAt: string; readonly now: string }
  /** Removes rights according to a later access configuration. `from` is the access on which the decision is based. */
  NarrowGrants: DataOf<TokenEvent, 'TokenGrantsNarrowed'>
  /** `provider` signed the person out, if a logout token ended the session. */
  RevokeToken: DataOf<TokenEvent, 'TokenRevoked'>
  /** Cleanup: `before` is the current time minus the grace period. */
  CleanUpToken: { readonly id: string; readonly before: string }
}

/**
 * State of a token. `unreadable`: an event of the stream cannot be read, so it is unknown whether the token is live. An
 * unreadable token can be revoked.
 */
export type Token = {
  readonly status: 'absent' | 'live' | 'unreadable' | 'deleted'
  readonly expiresAt?: string | undefined
  /** Current access of the token, and the number of the access configuration from which it was computed. */
  readonly access?: NarrowedAccess | undefined
  readonly policy?: number | undefined
}
type NarrowedAccess = DataOf<TokenEvent, 'TokenGrantsNarrowed'>['to']

export const token: Decider<Token, TokenCommands, TokenEvent> = {
  category: 'token',
  shapes: tokenEvents,
  read: reader(tokenEvents),
  initial: { status: 'absent' },
  exists: ({ status }) => status === 'live' || status === 'unreadable',
  unread: {
    commands: new Set(['RevokeToken', 'CleanUpToken']),
    state: (state) => (state.status === 'deleted' ? state : { status: 'unreadable' }),
  },

  decide: {
    IssueToken: ({ status }, data) =>
      status === 'absent' ? [{ type: 'TokenIssued', data }] : refuse('not_unique', 'token was already issued'),

    ExpireTokenEarlier: ({ status, expiresAt: present }, { id, expiresAt, now }) => {
      if (status !== 'live') return refuse('not_found', `authentication "${id}": resource not found`)
      if (expiresAt === present) return []
      if (present !== undefined && expiresAt > present)
        return invalid('expiresAt', 'must not be later than the present expiry', 'expiry_not_earlier')
      const to = expiresAt < now ? now : expiresAt
      if (present !== undefined && present <= to) return []
      return [{ type: 'TokenExpiryChanged', data: present === undefined ? { id, to } : { id, from: present, to } }]
    },

    NarrowGrants: ({ status, access, policy = -1 }, data) => {
      if (status !== 'live') return refuse('not_found', `authentication "${data.id}": resource not found`)
      if (data.policy <= policy) return invalid('policy', "must be later than the token's")
      if (canonical({ access }) !== canonical({ access: data.from })) return refuse('write_conflict')
      return [{ type: 'TokenGrantsNarrowed', data }]
    },

    RevokeToken: ({ status }, data) =>
      status === 'live' || status === 'unreadable' ? [{ type: 'TokenRevoked', data }] : [],

    CleanUpToken: ({ status, expiresAt }, { id, before }) =>
      status === 'live' && expiresAt !== undefined && expiresAt < before
        ? [{ type: 'TokenExpired', data: { id, expiresAt } }]
        : [],
  },

  evolve: {
    TokenIssued: ({ status }, { expiresAt, grants, roles = {}, policy }) =>
      status === 'unreadable'
        ? { status }
        : { status: 'live', expiresAt, policy, ...(grants && { access: { grants, roles } }) },
    TokenExpiryChanged: (state, { to }) => (state.status === 'unreadable' ? state : { ...state, expiresAt: to }),
    TokenGrantsNarrowed: (state, { to: access, policy }) =>
      state.status === 'unreadable' ? state : { ...state, access, policy },
    TokenRevoked: (state) => ({ ...state, status: 'deleted' }),
    TokenExpired: (state) => ({ ...state, status: 'deleted' }),
  },
}
