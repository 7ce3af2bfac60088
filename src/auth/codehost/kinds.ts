import type { Asking } from '../oidc/further-parameters.ts'

type Fields = Readonly<Record<string, unknown>>

/** Differences between code hosts: addresses, scopes, field names and pagination. */
export type CodehostKind = {
  readonly authorizePath: string
  readonly tokenPath: string
  /** `Accept` header of API requests. */
  readonly accept: string
  readonly asking: Asking
  /** Scope for reading organizations and teams. */
  readonly membershipScope: string
  /** Scopes that each allow reading the user's e-mail addresses; empty if the user resource contains the address. */
  readonly addressScopes: readonly string[]
  readonly loginOf: (user: Fields) => unknown
  readonly nameOf: (user: Fields) => unknown
  readonly organizations: string
  readonly organizationOf: (organization: Fields) => unknown
  /** The value is undefined if the host has nested groups, which all count as organizations. */
  readonly teams: string | undefined
  readonly teamOf: (team: Fields) => unknown
  /**
   * `link`: the next page is in the Link header. `number`: increments the page number until the total count is reached.
   */
  readonly pages: 'link' | 'number'
}

const github: CodehostKind = {
  authorizePath: '/login/oauth/authorize',
  tokenPath: '/login/oauth/access_token',
  accept: 'application/vnd.github+json',
  asking: 'select_account',
  membershipScope: 'read:org',
  addressScopes: ['user:email', 'user'],
  loginOf: ({ login }) => login,
  nameOf: ({ name }) => name,
  organizations: '/user/orgs?per_page=100',
  organizationOf: ({ login }) => login,
  teams: '/user/teams?per_page=100',
  teamOf: ({ slug }) => slug,
  pages: 'link',
}

/** Kinds by name. `gitea` includes Forgejo. */
export const codehostKinds = {
  github,
  gitea: {
    ...github,
    accept: 'application/json',
    membershipScope: 'read:organization',
    addressScopes: ['read:user'],
    nameOf: ({ full_name }) => full_name,
    organizations: '/user/orgs?limit=50',
    // Gitea before 1.20 has only the field `username`.
    organizationOf: ({ name, username }) => name ?? username,
    teams: '/user/teams?limit=50',
    teamOf: ({ name }) => name,
    // In Gitea, lists of teams have no link to the next page, and links use the host's own configured address.
    pages: 'number',
  },
  gitlab: {
    ...github,
    authorizePath: '/oauth/authorize',
    tokenPath: '/oauth/token',
    accept: 'application/json',
    // With the scope `openid` it answers `select_account` with an error.
    asking: 'login',
    membershipScope: 'read_api',
    addressScopes: [],
    loginOf: ({ username }) => username,
    // Access level 10 of GitLab is Guest. If this parameter is missing, the list contains every public group.
    organizations: '/groups?min_access_level=10&per_page=100',
    organizationOf: ({ full_path }) => full_path,
    teams: undefined,
  },
} as const satisfies Readonly<Record<string, CodehostKind>>

export type CodehostKindName = keyof typeof codehostKinds
