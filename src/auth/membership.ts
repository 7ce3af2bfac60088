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

/**
 * Whether the memberships satisfy the restrictions, and which of them are kept (api.md §5.2, §5.6): all where nothing
 * is restricted, else the allowed ones.
 */
export const admit = (
  { organizations, teams }: Memberships,
  { allowedOrganizations, allowedTeams }: Restrictions,
): Memberships & { readonly admitted: boolean } => {
  const byTeam = Object.keys(allowedTeams).length > 0
  if (allowedOrganizations.length === 0 && !byTeam) return { admitted: true, organizations, teams }

  const kept = organizations.filter((organization) => allowedOrganizations.includes(organization))
  const allowed = new Map(Object.entries(allowedTeams))
  const keptTeams = Object.entries(teams)
    .filter(([organization]) => allowedOrganizations.includes(organization))
    .map(
      ([organization, slugs]) =>
        [organization, byTeam ? slugs.filter((slug) => allowed.get(organization)?.includes(slug)) : slugs] as const,
    )
    .filter(([, slugs]) => slugs.length > 0)
  return {
    admitted: kept.length > 0 && (!byTeam || keptTeams.length > 0),
    organizations: kept,
    teams: Object.fromEntries(keptTeams),
  }
}
