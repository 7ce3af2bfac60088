/** Exit codes, for scripts. A process that a signal ends exits with 130 (SIGINT) or 143 (SIGTERM). */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  check: 3,
  notFound: 4,
  denied: 5,
  conflict: 6,
  unavailable: 7,
  interrupted: 130,
} as const

/** Error whose message is shown to the user unchanged, with its exit code. */
export type Failure = Error & { readonly exit: number; readonly about: About }
/** Details of the object of a refusal (`metadata` of api.md §2.1). */
export type About = Readonly<Record<string, unknown>>

/** Fails with a message and, if given, the next step. */
export const fail = (exit: keyof typeof EXIT, happened: string, next?: string, about: About = {}): never => {
  throw Object.assign(new Error(next === undefined ? happened : `${happened}\n${next}`), { exit: EXIT[exit], about })
}

export const isFailure = (error: unknown): error is Failure =>
  error instanceof Error && 'exit' in error && typeof error.exit === 'number'
