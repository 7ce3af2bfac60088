import { listsName, teamNames } from '../access/folded.ts'

/** What somebody belongs to at a code host: organizations by login, teams as organization → slugs. */
export type Memberships = {
  readonly organizations: readonly string[]
  readonly teams: Readonly<Record<string, readonly string[]>>
}

/** Empty = no restriction. A team's organization must be an allowed one too. */
export type Restrictions = {
  readonly allowedOrganizations: readonly string[]
  readonly allowedTeams: Readonly<Record<string, readonly string[]>>
}

/** What rules name: organizations by login, teams as `organization/slug`. */
export type Named = { readonly organizations: readonly string[]; readonly teams: readonly string[] }

/**
 * Whether the memberships satisfy the restrictions, and which of them are kept (api.md §5.2, §5.6): all where nothing
 * is restricted, else the allowed ones and those that rules name. Case means nothing in these names; what is kept is as the host writes it.
 */
export const admit = (
  { organizations, teams }: Memberships,
  { allowedOrganizations, allowedTeams }: Restrictions,
  named: Named = { organizations: [], teams: [] },
): Memberships & { readonly admitted: boolean } => {
  const byTeam = Object.keys(allowedTeams).length > 0
  if (allowedOrganizations.length === 0 && !byTeam) return { admitted: true, organizations, teams }

  const allowed = teamNames(allowedTeams)
  const isAllowed = (organization: string, slug: string): boolean =>
    listsName(allowedOrganizations, organization) && (!byTeam || listsName(allowed, `${organization}/${slug}`))
  const all = Object.entries(teams)
  const kept = all
    .map(
      ([organization, slugs]) =>
        [
          organization,
          slugs.filter((slug) => isAllowed(organization, slug) || listsName(named.teams, `${organization}/${slug}`)),
        ] as const,
    )
    .filter(([, slugs]) => slugs.length > 0)
  return {
    admitted:
      organizations.some((organization) => listsName(allowedOrganizations, organization)) &&
      (!byTeam || all.some(([organization, slugs]) => slugs.some((slug) => isAllowed(organization, slug)))),
    organizations: organizations.filter((one) => listsName([...allowedOrganizations, ...named.organizations], one)),
    teams: Object.fromEntries(kept),
  }
}
