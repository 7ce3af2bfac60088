import type { Authentication, AuthenticationList, IssuedToken } from '../../../src/contract/token.ts'
import { type Holder, holderIn, metadataOf } from '../identity.ts'
import { keys } from './keys.ts'
import { path, query, request } from './request.ts'
import type { Write } from './write.ts'

export type { Authentication, AuthenticationList, IssuedToken }

export type TokenFilter = {
  readonly kind: 'static' | 'session'
  readonly q?: string | undefined
  readonly status?: string | undefined
  readonly namespaceKey?: string | undefined
  readonly method?: string | undefined
  readonly identity?: string | undefined
  readonly sort?: string | undefined
  readonly order?: 'asc' | 'desc'
  readonly page?: string | undefined
  readonly limit?: number
  readonly at?: string | undefined
}

const PAGE = 50

/** One page of records, newest first unless it is sorted otherwise. */
export const readTokens = async ({ page, ...filter }: TokenFilter, signal?: AbortSignal): Promise<AuthenticationList> =>
  (
    await request<AuthenticationList>(
      `auth/v1/tokens${query({ order: 'desc', limit: PAGE, ...filter, pageToken: page })}`,
      { signal },
    )
  ).value

/** One record, a deleted one too, now or as of a moment. */
export const readToken = async (id: string, at: string | undefined, signal?: AbortSignal): Promise<Authentication> =>
  (await request<Authentication>(`auth/v1/tokens/${path(id)}${query({ deleted: 'true', at })}`, { signal })).value

/** How many live sessions a holder has. The service finds them by identity, whose provider is looked at here while they fit on a page. */
export const countSessions = async (holder: Holder, signal?: AbortSignal): Promise<number> => {
  const { method, identity, provider } = holder
  const filter = { kind: 'session', status: 'ACTIVE', method, identity } as const
  const { authentications, nextPageToken, totalCount } = await readTokens(filter, signal)
  if (nextPageToken !== '') return totalCount
  return authentications.filter((record) => holderIn(record)?.provider === provider).length
}

/** What a static token is called. */
export const nameOf = (record: Authentication): string => metadataOf(record, 'token.name') ?? record.id.slice(0, 8)
/** The namespace that a token is bound to. */
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

/** Ends every live session of one holder. */
export const revocation = ({ method, identity, provider }: Holder, reason: string): Write => ({
  method: 'POST',
  path: 'auth/v1/tokens/revoke',
  body: { method, identity, ...(provider !== undefined && { provider }) },
  reason,
  stale: [keys.tokens],
})
