/** What is wrong with one setting. `place` is the line of the file, or the environment variable, it was read from. Never holds a value. */
export type Problem = { readonly key: string; readonly description: string; readonly place: string }

/** A key, what is wrong with it, or nothing, and the place within its value, such as `[1]`. */
export type Finding = readonly [key: string, description: string | false | undefined, part?: string]

/** The error of a configuration that cannot be used: every problem at once. */
type ConfigError = Error & { readonly problems: readonly Problem[] }

/** One line: `key: description (place)`. */
export const printProblem = ({ key, description, place }: Problem): string =>
  `${key}: ${description}${place === '' ? '' : ` (${place})`}`

export const configError = (problems: readonly Problem[]): ConfigError => {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const lines = problems.map((problem) => `  ${printProblem(problem)}`)
  return Object.assign(new Error([`the configuration has ${count}:`, ...lines].join('\n')), { problems })
}

export const isConfigError = (error: unknown): error is ConfigError =>
  error instanceof Error && 'problems' in error && Array.isArray(error.problems)
