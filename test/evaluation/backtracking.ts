type Then = (at: number) => boolean
type Match = (at: number, then: Then) => boolean
type Look = (at: number, fits: (character: string) => boolean) => boolean
type Node = (look: Look, length: number) => Match

const CLASSES: Readonly<Record<string, (character: string) => boolean>> = {
  d: (character) => character >= '0' && character <= '9',
}

/**
 * Parses the regular expressions used on client texts: characters and classes, groups, `?`, `*`, `+`, `|`, `^` and `$`.
 */
const reader = (source: string, ignoreCase: boolean) => {
  let at = 0
  const same = (one: string, other: string) => (ignoreCase ? one.toLowerCase() === other.toLowerCase() : one === other)
  const taken = (text: string) => source.startsWith(text, at) && ((at += text.length), true)

  const classOf = () => {
    const negated = taken('^')
    const parts: ((character: string) => boolean)[] = []
    while (!taken(']')) {
      if (taken('\\')) {
        const name = source[at++]!
        parts.push(CLASSES[name] ?? ((character) => character === name))
        continue
      }
      const from = source[at++]!
      const isRange = source[at] === '-' && source[at + 1] !== ']'
      if (isRange) at++
      const to = isRange ? source[at++]! : from
      parts.push((character) => (character >= from && character <= to) || same(character, from))
    }
    return (character: string) => parts.some((part) => part(character)) !== negated
  }
  const one = (fits: (character: string) => boolean): { readonly node: Node; readonly isOne: boolean } => ({
    isOne: true,
    node: (look) => (at, then) => look(at, fits) && then(at + 1),
  })
  const atom = (): { readonly node: Node; readonly isOne: boolean } => {
    if (taken('^')) return { isOne: false, node: () => (at, then) => at === 0 && then(at) }
    if (taken('$')) return { isOne: false, node: (_, length) => (at, then) => at === length && then(at) }
    if (taken('(?:') || taken('(')) {
      const node = alternatives()
      if (!taken(')')) throw new Error(`cannot read ${source} at ${at}`)
      return { isOne: false, node }
    }
    if (taken('[')) return one(classOf())
    if (taken('\\')) {
      const name = source[at++]!
      return one(CLASSES[name] ?? ((character) => character === name))
    }
    const character = source[at++]!
    if ('.*+?{}|)'.includes(character)) throw new Error(`cannot read ${source} at ${at}`)
    return one((other) => same(other, character))
  }
  /** Greedy: the maximum first, then fewer if the rest does not match. */
  const repeated = ({ node, isOne }: ReturnType<typeof atom>, least: number): Node => {
    if (!isOne) throw new Error(`cannot count groups that are repeated: ${source}`)
    return (look, length) => {
      const single = node(look, length)
      return (from, then) => {
        let to = from
        while (single(to, () => true)) to++
        for (; to >= from + least; to--) if (then(to)) return true
        return false
      }
    }
  }
  const term = (): Node => {
    const found = atom()
    if (taken('*')) return repeated(found, 0)
    if (taken('+')) return repeated(found, 1)
    if (!taken('?')) return found.node
    return (look, length) => {
      const match = found.node(look, length)
      return (at, then) => match(at, then) || then(at)
    }
  }
  const sequence = (): Node => {
    const terms: Node[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') terms.push(term())
    return (look, length) =>
      terms
        .map((each) => each(look, length))
        .reduceRight<Match>(
          (after, match) => (at, then) => match(at, (next) => after(next, then)),
          (at, then) => then(at),
        )
  }
  const alternatives = (): Node => {
    const all = [sequence()]
    while (taken('|')) all.push(sequence())
    return (look, length) => {
      const matches = all.map((each) => each(look, length))
      return (at, then) => matches.some((match) => match(at, then))
    }
  }
  const whole = alternatives()
  if (at < source.length) throw new Error(`cannot read ${source} at ${at}`)
  return whole
}

const known = new Map<string, Node>()

/**
 * Number of characters that a backtracking matcher without memoization reads, and its result. This is the worst case of
 * any engine.
 */
export const backtracking = (
  { source, flags }: RegExp,
  text: string,
): { readonly looks: number; readonly is: boolean } => {
  const name = `/${source}/${flags}`
  const node = known.get(name) ?? reader(source, flags.includes('i'))
  known.set(name, node)
  let looks = 0
  const look: Look = (at, fits) => {
    looks++
    return at < text.length && fits(text[at]!)
  }
  const match = node(look, text.length)
  for (let start = 0; start <= text.length; start++) {
    looks++
    if (match(start, () => true)) return { looks, is: true }
  }
  return { looks, is: false }
}
