/** Problem of one setting. `place` is its line of the file or its environment variable. Never contains the value. */
export type Problem = { readonly key: string; readonly description: string; readonly place: string }

/** Result of a check: the key, its problem if there is one, and the location within its value, such as `[1]`. */
export type Finding = readonly [key: string, description: string | false | undefined, part?: string]

/** Error of an invalid configuration, with all problems. */
type ConfigError = Error & { readonly problems: readonly Problem[] }

/** One line per problem: `key: description (place)`. */
export const printProblem = ({ key, description, place }: Problem): string =>
  `${key}: ${description}${place === '' ? '' : ` (${place})`}`

export const configError = (problems: readonly Problem[]): ConfigError => {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const lines = problems.map((problem) => `  ${printProblem(problem)}`)
  return Object.assign(new Error([`the configuration has ${count}:`, ...lines].join('\n')), { problems })
}

export const isConfigError = (error: unknown): error is ConfigError =>
  error instanceof Error && 'problems' in error && Array.isArray(error.problems)

/** Edit distance; two neighbours in the wrong order count once. */
const distance = (a: string, b: string): number => {
  let [before, row]: [readonly number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, n) => n)]
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const isTurned = i > 0 && a[i - 1] === b[j] && a[i] === b[j - 1]
      const turned = isTurned ? before[j - 1]! + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (a[i] === b[j] ? 0 : 1), turned))
    }
    ;[before, row] = [row, next]
  }
  return row[b.length]!
}

const isNear = (a: string, b: string): boolean => distance(a, b) <= Math.max(1, Math.floor(b.length / 3))

const wordsIn = (name: string): readonly string[] =>
  name
    .slice(0, 200)
    .replace(/([a-z])(?=[A-Z])/g, '$1_')
    .toLowerCase()
    .split(/[._-]/)

/** Edit distance of two names in which each word is near; undefined for names of another meaning. */
const misspelling = (given: readonly string[], other: readonly string[]): number | undefined => {
  const steps = distance(given.join(''), other.join(''))
  const isSame = given.length === other.length && given.every((word, n) => isNear(word, other[n]!))
  return isSame || steps <= 1 ? steps : undefined
}

/**
 * ` (did you mean x?)` with the nearest name, of which each word has an edit distance of at most a third of its length.
 * Without one, and only if `isPartial`: up to three names that contain all words, first those with the same last word.
 */
export const didYouMean = (name: string, names: Iterable<string>, isPartial = false): string => {
  const given = wordsIn(name)
  const others = Array.from(names, (other) => ({ other, words: wordsIn(other) }))
  const nearest = others
    .flatMap(({ other, words }) => {
      const steps = misspelling(given, words)
      return steps === undefined ? [] : { other, steps }
    })
    .sort((a, b) => a.steps - b.steps)
  const longer = others
    .filter(({ words }) => isPartial && given.every((word) => words.includes(word)))
    .sort((a, b) => Number(b.words.at(-1) === given.at(-1)) - Number(a.words.at(-1) === given.at(-1)))
  const meant = nearest[0] ? [nearest[0].other] : longer.slice(0, 3).map(({ other }) => other)
  return meant.length === 0 ? '' : ` (did you mean ${meant.join(' or ')}?)`
}
