/** Exit codes of the programs by the kind of a failure. Ended by a signal: 130 (SIGINT) or 143 (SIGTERM). */
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

/** Error whose message is shown to the user unchanged, with its kind. */
export type Failure = Error & { readonly kind: keyof typeof EXIT; readonly about: About }
/** Details of the object of a refusal (`metadata` of api.md §2.1). */
export type About = Readonly<Record<string, unknown>>

/** Failure with a message and, if given, the next step. */
export const failureOf = (kind: Failure['kind'], happened: string, next?: string, about: About = {}): Failure =>
  Object.assign(new Error(next === undefined ? happened : `${happened}\n${next}`), { kind, about })

/** Fails with a message and, if given, the next step. */
export const fail = (...failure: Parameters<typeof failureOf>): never => {
  throw failureOf(...failure)
}

export const isFailure = (error: unknown): error is Failure =>
  error instanceof Error && 'kind' in error && 'about' in error
