import { listsName, teamNames } from '../../access/rules.ts'
import type { LoginCause } from '../../base/login-causes.ts'

/** Memberships of a person at a code host: organizations by login, teams as organization → slugs. */
export type Memberships = {
  readonly organizations: readonly string[]
  readonly teams: Readonly<Record<string, readonly string[]>>
}

/** Required memberships; empty: no restriction. A team counts only if its organization is allowed too. */
export type Restrictions = {
  readonly allowedOrganizations: readonly string[]
  readonly allowedTeams: Readonly<Record<string, readonly string[]>>
}

/** Organizations and teams that rules name: organizations by login, teams as `organization/slug`. */
export type Named = { readonly organizations: readonly string[]; readonly teams: readonly string[] }

/** Filters memberships. */
const cut = (
  { organizations, teams }: Memberships,
  isOrganization: (name: string) => boolean,
  isTeam: (organization: string, slug: string) => boolean,
): Memberships => ({
  organizations: organizations.filter(isOrganization),
  teams: Object.fromEntries(
    Object.entries(teams)
      .map(([organization, slugs]) => [organization, slugs.filter((slug) => isTeam(organization, slug))] as const)
      .filter(([, slugs]) => slugs.length > 0),
  ),
})

const NOBODY: Named = { organizations: [], teams: [] }

/**
 * Checks memberships against the restrictions and selects the memberships to store (api.md §5.2, §5.6). If there are no
 * restrictions, all memberships are stored; otherwise the allowed ones and those that rules name. Names are compared
 * case-insensitively and stored as the host writes them.
 */
export const admit = (
  known: Memberships,
  { allowedOrganizations, allowedTeams }: Restrictions,
  named: Named = NOBODY,
): Memberships & { readonly barred?: LoginCause | undefined } => {
  const byTeam = Object.keys(allowedTeams).length > 0
  if (allowedOrganizations.length === 0 && !byTeam) return known

  const allowed = teamNames(allowedTeams)
  const isAllowed = (organization: string, slug: string): boolean =>
    listsName(allowedOrganizations, organization) && (!byTeam || listsName(allowed, `${organization}/${slug}`))
  const inTeam = Object.entries(known.teams).some(([organization, slugs]) =>
    slugs.some((slug) => isAllowed(organization, slug)),
  )
  return {
    barred: known.organizations.some((name) => listsName(allowedOrganizations, name))
      ? byTeam && !inTeam
        ? 'membership_team'
        : undefined
      : 'membership_other',
    ...cut(
      known,
      (name) => listsName([...allowedOrganizations, ...named.organizations], name),
      (organization, slug) => isAllowed(organization, slug) || listsName(named.teams, `${organization}/${slug}`),
    ),
  }
}

/** Keeps only the memberships that restrictions and rules name individually. */
export const onlyNamed = (
  known: Memberships,
  { allowedOrganizations, allowedTeams }: Restrictions,
  named: Named = NOBODY,
): Memberships =>
  cut(
    known,
    (name) => listsName([...allowedOrganizations, ...named.organizations], name),
    (organization, slug) => listsName([...teamNames(allowedTeams), ...named.teams], `${organization}/${slug}`),
  )
