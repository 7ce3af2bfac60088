/**
 * Scope of a right: `namespace` applies in the namespace of the grant, `deployment` requires a grant for `*`, `any`
 * applies regardless of the namespace.
 */
type Level = 'namespace' | 'deployment' | 'any'

/** All rights, in the order of lists in answers. */
const LEVELS = {
  'flag.evaluate': 'namespace',
  'flag.snapshot': 'namespace',
  'flag.read': 'namespace',
  'flag.create': 'namespace',
  'flag.delete': 'namespace',
  'flag.update': 'namespace',
  'segment.read': 'namespace',
  'segment.create': 'namespace',
  'segment.delete': 'namespace',
  'segment.update': 'namespace',
  'namespace.read': 'namespace',
  'namespace.update': 'namespace',
  'namespace.create': 'deployment',
  'namespace.delete': 'deployment',
  'token.read': 'namespace',
  'token.create': 'namespace',
  'token.revoke': 'namespace',
  'history.read': 'namespace',
  'audit.read': 'deployment',
  'subject.erase': 'deployment',
  'config.read': 'deployment',
  'self.use': 'any',
} as const satisfies Readonly<Record<string, Level>>

/** Name of a right. */
export type Right = keyof typeof LEVELS
export const RIGHTS: readonly Right[] = Object.keys(LEVELS) as Right[]

/** Set of rights as a bit mask of at most 30 rights. */
export type RightSet = number

const bits: ReadonlyMap<string, RightSet> = new Map(RIGHTS.map((right, n) => [right, 1 << n]))

export const isRight = (text: string): text is Right => bits.has(text)
export const levelOf = (right: Right): Level => LEVELS[right]
/** Set with one right. */
export const bitOf = (right: Right): RightSet => bits.get(right)!

/** Set of the named rights. Ignores names that are not rights of this version. */
export const setOf = (rights: Iterable<string>): RightSet => {
  let set = 0
  for (const right of rights) set |= bits.get(right) ?? 0
  return set
}

/** Rights of a set, in order. */
export const rightsIn = (set: RightSet): readonly Right[] => RIGHTS.filter((right) => (set & bitOf(right)) !== 0)

const ofLevel = (...levels: readonly Level[]) => setOf(RIGHTS.filter((right) => levels.includes(levelOf(right))))

/** Set of all rights. */
export const ALL: RightSet = setOf(RIGHTS)
/** Additional bit that stands for rights of later versions. */
export const LATER: RightSet = 1 << 30
/** Rights that a grant for a single namespace can give. */
export const IN_NAMESPACE: RightSet = ofLevel('namespace')
/** Rights that apply regardless of the namespace of the grant. */
export const ANYWHERE: RightSet = ofLevel('any')
