import { useQuery } from '@tanstack/react-query'
import type { Access, Roles } from '../../../src/contract/access.ts'
import type { Authentication } from '../../../src/contract/token.ts'
import { keys } from './keys.ts'
import { read } from './request.ts'
import { boundTo } from './tokens.ts'

export type { Access, Roles }
export type Role = Roles['roles'][number]

/** As a place: every namespace and the deployment itself. As a right: every right. */
export const EVERY = '*'
const FIVE_MINUTES_MS = 300_000

const readAccess = (signal?: AbortSignal): Promise<Access> => read('auth/v1/access', { signal })

const readRoles = (signal?: AbortSignal): Promise<Roles> => read('auth/v1/roles', { signal })

/** Returns the rights of the signed-in identity. `settled` is true after the first answer or failure. */
export const useAccess = () => {
  const { data, isPending, error, refetch } = useQuery({
    queryKey: keys.access,
    queryFn: ({ signal }) => readAccess(signal),
    staleTime: FIVE_MINUTES_MS,
  })
  return { access: data, settled: !isPending, error, refetch }
}

/** Returns all roles, each with the places where the signed-in identity may grant it. */
export const useRoles = () =>
  useQuery({ queryKey: keys.roles, queryFn: ({ signal }) => readRoles(signal), staleTime: FIVE_MINUTES_MS })

/** Returns the keys of the namespaces in which the right is held, or `*` alone if it is held everywhere. */
export const placesOf = ({ places }: Access, right: string): readonly string[] => {
  const held = places.filter(({ rights }) => rights.includes(EVERY) || rights.includes(right))
  const keysOf = held.map(({ namespaceKey }) => namespaceKey)
  return keysOf.includes(EVERY) ? [EVERY] : keysOf
}

/** Right that an action needs. `namespaceKey` `*` means in every namespace; absent means in any namespace. */
export type Needed = { readonly right: string; readonly namespaceKey?: string }

/** Whether the access includes the right that an action needs. */
export const holds = (access: Access, { right, namespaceKey }: Needed): boolean =>
  placesOf(access, right).some((place) => [EVERY, namespaceKey ?? place].includes(place))

/** Right that is needed to revoke the token of a record (api.md §3.7). */
export const removalOf = (record: Authentication): Needed => ({
  right: 'token.revoke',
  namespaceKey: boundTo(record) ?? EVERY,
})

/** Whether the token of a record has every right everywhere, including rights that later versions add. */
export const isFull = (record: Authentication): boolean =>
  record.grants
    ? record.grants.some(({ namespaceKey, rights }) => namespaceKey === EVERY && rights.includes(EVERY))
    : boundTo(record) === undefined

/** Whether the token of a record can be published, because its only right is to evaluate flags. */
export const isPublishable = ({ grants = [] }: Pick<Authentication, 'grants'>): boolean =>
  grants.length > 0 && grants.every(({ rights }) => rights.length === 1 && rights[0] === 'flag.evaluate')
