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
