import type { Authentication, AuthenticationList, IssuedToken } from '../../../src/contract/token.ts'
import { metadataOf } from '../identity.ts'
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
  readonly sort?: string | undefined
  readonly order?: 'asc' | 'desc'
  readonly page?: string | undefined
  readonly at?: string | undefined
}

const PAGE = 50

/** One page of records, newest first unless it is sorted otherwise. */
export const readTokens = async ({ page, ...filter }: TokenFilter, signal?: AbortSignal): Promise<AuthenticationList> =>
  (
    await request<AuthenticationList>(
      `auth/v1/tokens${query({ order: 'desc', ...filter, limit: PAGE, pageToken: page })}`,
      { signal },
    )
  ).value

/** What a static token is called. */
export const nameOf = (record: Authentication): string => metadataOf(record, 'token.name') ?? record.id.slice(0, 8)
/** The namespace that a token is bound to. */
export const boundTo = (record: Authentication): string | undefined => metadataOf(record, 'token.namespace')

export type NewToken = {
  readonly name: string
  readonly description?: string
  readonly expiresAt?: string
  readonly namespaceKey?: string
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
