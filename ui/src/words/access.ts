import { counted, list } from './common.ts'

type Granted = {
  readonly namespaceKey: string
  readonly role?: string | undefined
  readonly rights: readonly string[]
}

/** Names of the built-in roles; other roles are shown by their key. */
const roles: Readonly<Record<string, string>> = {
  client: 'Client',
  server: 'Server',
  viewer: 'Viewer',
  editor: 'Editor',
  admin: 'Admin',
  auditor: 'Auditor',
}

/** Description of each right; an unknown right is shown by its key. */
const rights: Readonly<Record<string, string>> = {
  '*': 'do everything, including what later versions add',
  'flag.evaluate': 'evaluate flags',
  'flag.snapshot': 'download snapshots of all flags',
  'flag.read': 'read flags',
  'flag.create': 'create flags',
  'flag.delete': 'delete flags',
  'flag.update': 'change flags',
  'segment.read': 'read segments',
  'segment.create': 'create segments',
  'segment.delete': 'delete segments',
  'segment.update': 'change segments',
  'namespace.read': 'see namespaces',
  'namespace.update': 'rename namespaces',
  'namespace.create': 'create namespaces',
  'namespace.delete': 'delete namespaces',
  'token.read': 'see tokens',
  'token.create': 'create tokens',
  'token.revoke': 'delete tokens',
  'history.read': 'read the history',
  'audit.read': 'read all history, including that of people',
  'subject.erase': 'erase personal data',
  'config.read': 'read the configuration',
  'self.use': 'sign in and out',
}

const right = (name: string): string => (Object.hasOwn(rights, name) ? rights[name]! : name)

/** Maximum number of grants in a line, followed by the number of the others. */
const MAX_SHOWN = 3

const placeOf = (namespaceKey: string, alone: boolean): string => {
  if (namespaceKey !== '*') return `in ${namespaceKey}`
  return alone ? 'in every namespace' : 'everywhere'
}

const heldBy = ({ role, rights: held }: Granted, first: boolean): string => {
  if (role === undefined) return counted(held.length, 'right', 'rights')
  const name = Object.hasOwn(roles, role) ? roles[role]! : role
  return first || name === role ? name : name.toLowerCase()
}

/** Formats a grant: “Editor in shop”. */
const grant = (granted: Granted): string => `${heldBy(granted, true)} ${placeOf(granted.namespaceKey, true)}`

export const access = {
  grant,
  /** Formats grants: “Editor in default, viewer everywhere”. */
  grants: (all: readonly Granted[]): string => {
    const [first] = all
    if (!first) return 'Nothing'
    if (all.length === 1) return grant(first)
    const shown = all.slice(0, MAX_SHOWN).map((one, n) => `${heldBy(one, n === 0)} ${placeOf(one.namespaceKey, false)}`)
    const more = all.length - shown.length
    return more === 0 ? list(shown) : `${list(shown)} and ${more} more`
  },
  right,
  role: (name: string): string => (Object.hasOwn(roles, name) ? roles[name]! : name),
  full: 'Full access',
  more: (grants: number): string => `and in ${counted(grants, 'more place', 'more places')}`,
  /** Describes the rights of a token. */
  can: (names: readonly string[]): string => `It can: ${list(names.map(right))}.`,
  /** Describes the rights of the signed-in user. */
  youCan: (names: readonly string[]): string => `You can: ${list(names.map(right))}.`,
  list: 'Rights',
  publishable: 'It can be published: all it can do is evaluate flags.',
}
