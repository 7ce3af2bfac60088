import { reader } from '../events/define.ts'
import { type TokenEvent, tokenEvents } from '../events/token.ts'
import type { Projection } from './projection.ts'

/** One authentication record, deleted ones too. `profile` is in sealed form. `name` is the static token's name in lower case, to search by. Times are RFC 3339 UTC with milliseconds. */
export type TokenDoc = {
  readonly id: string
  readonly digest: string
  readonly method: 'token' | 'oidc' | 'codehost' | 'orchestrator'
  readonly createdAt: string
  readonly updatedAt: string
  readonly expiresAt?: string
  readonly deletedAt?: string
  readonly namespace?: string
  readonly name?: string
  readonly attributes: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly provider?: string
  readonly subject?: string
  readonly profile?: string
}

/** Who may call, and who ever might. */
export const tokens: Projection<TokenDoc, TokenEvent> = {
  name: 'tokens',
  version: 1,
  indexes: ['digest', 'method', 'namespace', 'name', 'createdAt', 'expiresAt', 'deletedAt', 'subject'],
  category: 'token',
  read: reader(tokenEvents),
  on: {
    TokenIssued: (_, { issuedAt, login: _login, bootstrap: _bootstrap, ...token }) => {
      const name = token.attributes['token.name']?.toLowerCase()
      return { ...token, createdAt: issuedAt, updatedAt: issuedAt, ...(name === undefined ? {} : { name }) }
    },
    TokenExpiryChanged: (doc, { to }, { time }) => doc && { ...doc, expiresAt: to, updatedAt: time },
    TokenRevoked: (doc, _, { time }) => doc && { ...doc, deletedAt: time, updatedAt: time },
    TokenExpired: (doc, _, { time }) => doc && { ...doc, deletedAt: time, updatedAt: time },
  },
}
