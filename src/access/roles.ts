import { isRight, RIGHTS, type Right } from './rights.ts'

/** Stands for all rights that can be granted in the namespace, including rights of later versions. */
export const EVERY = '*'

/** Rights of roles, by name of the role; `*` as the only right stands for all. */
export type Meanings = Readonly<Record<string, readonly string[]>>

export type Role = { readonly name: string; readonly description: string; readonly rights: readonly string[] }

const server: readonly Right[] = ['flag.evaluate', 'flag.snapshot', 'self.use']
const viewer: readonly Right[] = [...server, 'flag.read', 'segment.read', 'namespace.read', 'history.read']

const inOrder = (rights: readonly string[]): readonly string[] => RIGHTS.filter((right) => rights.includes(right))

/** Roles of every deployment. The rights of built-in roles never shrink in a minor version. */
export const BUILT_IN: readonly Role[] = [
  { name: 'client', description: 'Browsers and mobile apps: safe to publish.', rights: ['flag.evaluate'] },
  { name: 'server', description: 'Services that evaluate flags.', rights: server },
  { name: 'viewer', description: 'People and tools that only read.', rights: viewer },
  {
    name: 'editor',
    description: 'People and tools that change flags.',
    rights: [
      ...viewer,
      ...(['flag.create', 'flag.update', 'flag.delete', 'segment.create', 'segment.update', 'segment.delete'] as const),
    ],
  },
  {
    name: 'admin',
    description: 'Owner of a namespace, or, in all namespaces, operator of the deployment.',
    rights: [EVERY],
  },
  {
    name: 'auditor',
    description: 'Auditors, who may read everything and change nothing.',
    rights: [
      'flag.evaluate',
      'flag.read',
      'segment.read',
      'namespace.read',
      'history.read',
      'token.read',
      'audit.read',
      'config.read',
      'self.use',
    ],
  },
].map(({ rights, ...role }) => ({ ...role, rights: rights.some(isRight) ? inOrder(rights) : rights }))

/** Pattern for names of roles and rules. */
export const NAME = /^[a-z][a-z0-9_-]{0,62}$/

export const isBuiltIn = (name: string): boolean => BUILT_IN.some((role) => role.name === name)

/** Roles of a deployment: the built-in ones, then its own in their order. */
export const rolesWith = (own: Meanings): readonly Role[] => [
  ...BUILT_IN,
  ...Object.entries(own).map(([name, rights]) => ({
    name,
    description: 'A role of this deployment.',
    rights: inOrder(rights),
  })),
]
