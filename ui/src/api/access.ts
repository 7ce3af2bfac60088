import { useQuery } from '@tanstack/react-query'
import type { Access, Roles } from '../../../src/contract/access.ts'
import type { Authentication } from '../../../src/contract/token.ts'
import { keys } from './keys.ts'
import { request } from './request.ts'
import { boundTo } from './tokens.ts'

export type { Access, Roles }
export type Role = Roles['roles'][number]

/** The place that is every namespace and the deployment, and among rights every one. */
export const EVERY = '*'
const FIVE_MINUTES_MS = 300_000

export const readAccess = async (signal?: AbortSignal): Promise<Access> =>
  (await request<Access>('auth/v1/access', { signal })).value

const readRoles = async (signal?: AbortSignal): Promise<Roles> =>
  (await request<Roles>('auth/v1/roles', { signal })).value

/** What who is signed in may do, and where. `settled` once it is known, or cannot be. */
export const useAccess = () => {
  const { data, isPending, error, refetch } = useQuery({
    queryKey: keys.access,
    queryFn: ({ signal }) => readAccess(signal),
    staleTime: FIVE_MINUTES_MS,
  })
  return { access: data, settled: !isPending, error, refetch }
}

/** The roles there are, with where who is signed in could give each. */
export const useRoles = () =>
  useQuery({ queryKey: keys.roles, queryFn: ({ signal }) => readRoles(signal), staleTime: FIVE_MINUTES_MS })

/** The places in which a right is held: `*` alone where that is everywhere, else namespaces by their keys. */
export const placesOf = ({ places }: Access, right: string): readonly string[] => {
  const held = places.filter(({ rights }) => rights.includes(EVERY) || rights.includes(right))
  const keysOf = held.map(({ namespaceKey }) => namespaceKey)
  return keysOf.includes(EVERY) ? [EVERY] : keysOf
}

/** What an action needs: a right, and the namespace it must be held in: `*` for every one, nothing for any one. */
export type Needed = { readonly right: string; readonly namespaceKey?: string }

/** Whether what an action needs is held. */
export const holds = (access: Access, { right, namespaceKey }: Needed): boolean =>
  placesOf(access, right).some((place) => [EVERY, namespaceKey ?? place].includes(place))

/** What it takes to end a record's token (api.md §3.7). */
export const removalOf = (record: Authentication): Needed => ({
  right: 'token.revoke',
  namespaceKey: boundTo(record) ?? EVERY,
})

/** Whether a record may do everything, also what later versions add. */
export const isFull = (record: Authentication): boolean =>
  record.grants
    ? record.grants.some(({ namespaceKey, rights }) => namespaceKey === EVERY && rights.includes(EVERY))
    : boundTo(record) === undefined

/** Whether a record's token can be published: all that it may do is ask flags. */
export const isPublishable = ({ grants = [] }: Pick<Authentication, 'grants'>): boolean =>
  grants.length > 0 && grants.every(({ rights }) => rights.length === 1 && rights[0] === 'flag.evaluate')
