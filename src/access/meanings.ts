import type { Grant } from './grants.ts'
import type { Meanings, Role } from './roles.ts'

/** Rights of roles, by name. */
export const meaningsOf = (roles: readonly Role[]): Meanings =>
  Object.fromEntries(roles.map(({ name, rights }) => [name, rights]))

/** Rights of the roles that the grants name. */
export const meaningsIn = (grants: readonly Grant[], roles: Meanings = {}): Meanings =>
  Object.fromEntries(
    grants.flatMap(({ role }) => (role !== undefined && Object.hasOwn(roles, role) ? [[role, roles[role]!]] : [])),
  )
