import type { Asking } from './further-parameters.ts'

type Fields = Readonly<Record<string, unknown>>

/** What differs between code hosts: addresses, scopes, the names of fields, and how lists are turned over. */
export type CodehostKind = {
  readonly authorizePath: string
  readonly tokenPath: string
  /** The media type that the API is asked for. */
  readonly accept: string
  readonly asking: Asking
  /** The scope with which organizations and teams are read. */
  readonly membershipScope: string
  /** The scopes, one of which lets the addresses of a user be read; none where the host tells the address with the user. */
  readonly addressScopes: readonly string[]
  readonly loginOf: (user: Fields) => unknown
  readonly nameOf: (user: Fields) => unknown
  readonly organizations: string
  readonly organizationOf: (organization: Fields) => unknown
  /** Undefined where a host has groups within groups, which are all organizations. */
  readonly teams: string | undefined
  readonly teamOf: (team: Fields) => unknown
  /** `link`: the next page is the one that the host names. `number`: pages are counted, until there are as many entries as the host has. */
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

/** By name; `gitea` is Forgejo too. */
export const codehostKinds = {
  github,
  gitea: {
    ...github,
    accept: 'application/json',
    membershipScope: 'read:organization',
    addressScopes: ['read:user'],
    nameOf: ({ full_name }) => full_name,
    organizations: '/user/orgs?limit=50',
    // Versions before 1.20 have `username` alone.
    organizationOf: ({ name, username }) => name ?? username,
    teams: '/user/teams?limit=50',
    teamOf: ({ name }) => name,
    // Its lists of teams name no next page, and its links have the host's own idea of its address.
    pages: 'number',
  },
  gitlab: {
    ...github,
    authorizePath: '/oauth/authorize',
    tokenPath: '/oauth/token',
    accept: 'application/json',
    // With the scope openid, it answers `select_account` with an error.
    asking: 'login',
    membershipScope: 'read_api',
    addressScopes: [],
    loginOf: ({ username }) => username,
    // From Guest on: without it every public group would be listed.
    organizations: '/groups?min_access_level=10&per_page=100',
    organizationOf: ({ full_path }) => full_path,
    teams: undefined,
  },
} as const satisfies Readonly<Record<string, CodehostKind>>

export type CodehostKindName = keyof typeof codehostKinds
