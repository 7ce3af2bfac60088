/** Where a right counts: in a namespace it was granted in, only where it was granted in every namespace, or wherever it was granted. */
export type Level = 'namespace' | 'deployment' | 'any'

/** Every right there is, in the order in which answers list them. */
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

/** One thing that can be allowed. */
export type Right = keyof typeof LEVELS
export const RIGHTS: readonly Right[] = Object.keys(LEVELS) as Right[]

/** Rights as the bits of one number, at most 30. */
export type RightSet = number

const bits: ReadonlyMap<string, RightSet> = new Map(RIGHTS.map((right, n) => [right, 1 << n]))

export const isRight = (text: string): text is Right => bits.has(text)
export const levelOf = (right: Right): Level => LEVELS[right]
/** The set of one right. */
export const bitOf = (right: Right): RightSet => bits.get(right)!

/** The set of some rights; a name that is no right of this version adds nothing. */
export const setOf = (rights: Iterable<string>): RightSet => {
  let set = 0
  for (const right of rights) set |= bits.get(right) ?? 0
  return set
}

/** The rights of a set, in order. */
export const rightsIn = (set: RightSet): readonly Right[] => RIGHTS.filter((right) => (set & bitOf(right)) !== 0)

const ofLevel = (...levels: readonly Level[]) => setOf(RIGHTS.filter((right) => levels.includes(levelOf(right))))

/** Every right. */
export const ALL: RightSet = setOf(RIGHTS)
/** Beside the rights of a set: those of later versions too. */
export const LATER: RightSet = 1 << 30
/** What a grant in one namespace can convey there. */
export const IN_NAMESPACE: RightSet = ofLevel('namespace')
/** What counts wherever it was granted. */
export const ANYWHERE: RightSet = ofLevel('any')
