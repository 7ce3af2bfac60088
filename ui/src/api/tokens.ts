import type { Authentication, AuthenticationList, IssuedToken } from '../../../src/contract/token.ts'
import { type Holder, holderIn } from '../identity.ts'
import { metadataOf } from '../metadata.ts'
import { keys } from './keys.ts'
import { path, query, read } from './request.ts'
import type { Write } from './write.ts'

export type { Authentication, IssuedToken }

type TokenFilter = {
  readonly kind: 'static' | 'session'
  readonly q?: string | undefined
  readonly status?: string | undefined
  readonly namespaceKey?: string | undefined
  readonly method?: string | undefined
  readonly identity?: string | undefined
  readonly access?: string | undefined
  readonly issuedBy?: string | undefined
  readonly sort?: string | undefined
  readonly order?: 'asc' | 'desc'
  readonly page?: string | undefined
  readonly limit?: number
  readonly at?: string | undefined
}

const PAGE = 50

/** Reads one page of token records, newest first by default. */
export const readTokens = ({ page, ...filter }: TokenFilter, signal?: AbortSignal): Promise<AuthenticationList> =>
  read(`auth/v1/tokens${query({ order: 'desc', limit: PAGE, ...filter, pageToken: page })}`, { signal })

/** Reads one record, even if deleted, now or at a moment. */
export const readToken = (id: string, at: string | undefined, signal?: AbortSignal): Promise<Authentication> =>
  read(`auth/v1/tokens/${path(id)}${query({ deleted: 'true', at })}`, { signal })

/**
 * Counts the active sessions of a holder. The API filters by identity only, so the provider is compared here if all
 * sessions fit on one page.
 */
export const countSessions = async (holder: Holder, signal?: AbortSignal): Promise<number> => {
  const { method, identity, provider } = holder
  const filter = { kind: 'session', status: 'ACTIVE', method, identity } as const
  const { authentications, nextPageToken, totalCount } = await readTokens(filter, signal)
  if (nextPageToken !== '') return totalCount
  return authentications.filter((record) => holderIn(record)?.provider === provider).length
}

/** Name of a static token. */
export const nameOf = (record: Authentication): string => metadataOf(record, 'token.name') ?? record.id.slice(0, 8)
/** Key of the namespace that a token is bound to. */
export const boundTo = (record: Authentication): string | undefined => metadataOf(record, 'token.namespace')

export type NewToken = {
  readonly name: string
  readonly description?: string
  readonly expiresAt?: string
  readonly namespaceKey?: string
  readonly role?: string
  readonly grants?: readonly { readonly role: string; readonly namespaceKey: string }[]
}

export const creation = (body: NewToken, reason: string): Write => ({
  method: 'POST',
  path: 'auth/v1/method/token',
  body,
  reason,
  stale: [keys.tokens],
})

export const deletion = (id: string, reason: string): Write => ({
  method: 'DELETE',
  path: `auth/v1/tokens/${path(id)}`,
  reason,
  stale: [keys.tokens],
})

/** Write that revokes every active session of a holder. */
export const revocation = ({ method, identity, provider }: Holder, reason: string): Write => ({
  method: 'POST',
  path: 'auth/v1/tokens/revoke',
  body: { method, identity, ...(provider !== undefined && { provider }) },
  reason,
  stale: [keys.tokens],
})
