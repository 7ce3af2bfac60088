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

const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++)
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === b[j] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}

/**
 * ` (did you mean x?)` with the nearest name, if its edit distance is at most a third of its length; else an empty
 * text.
 */
export const didYouMean = (name: string, names: Iterable<string>): string => {
  const near = [...names]
    .map((other) => [distance(name.slice(0, 200), other), other] as const)
    .filter(([steps, other]) => steps <= Math.max(1, Math.floor(other.length / 3)))
    .sort(([a], [b]) => a - b)
  return near[0] ? ` (did you mean ${near[0][1]}?)` : ''
}
