const NAME = /^[A-Za-z_]{1,64}$/
const CODE = /^[A-Z0-9_]{1,64}$/

type Step = { readonly name?: unknown; readonly code?: unknown; readonly claim?: unknown }

const stepsOf = (error: unknown): readonly Step[] => {
  const steps: Step[] = []
  for (
    let step = error;
    typeof step === 'object' && step !== null && steps.length < 8;
    step = (step as { cause?: unknown }).cause
  )
    steps.push(step)
  return steps
}

const fitting = (pattern: RegExp, word: unknown) => (typeof word === 'string' && pattern.test(word) ? word : undefined)
const known = (words: readonly (string | undefined)[]): readonly string[] => words.filter((word) => word !== undefined)

/** Names, codes and claims along an error's chain of causes, outermost first. */
export const codesOf = (error: unknown) => {
  const steps = stepsOf(error)
  return {
    names: known(steps.map(({ name }) => fitting(NAME, name))),
    codes: known(steps.map(({ code }) => fitting(CODE, code))),
    claims: known(steps.map(({ claim }) => fitting(NAME, claim))),
  }
}

/** Subject of our own errors: the proxy, an authority file, the answer, or a 2xx answer that is too large. */
export type OwnFault = 'proxy' | 'authority' | 'answer' | 'large'
const ours = new WeakMap<object, OwnFault>()

/** Creates an error with a sentence of our own, which may be logged unchanged. */
export const ownError = (about: OwnFault, sentence: string): Error => {
  const error = new Error(sentence)
  ours.set(error, about)
  return error
}

/** Returns the subject of such an error; undefined for any other error. */
export const ownFaultOf = (error: unknown): OwnFault | undefined =>
  error instanceof Error ? ours.get(error) : undefined

/**
 * Converts any error into one that may be logged: our own sentence, or the names and codes of its causes. Messages and
 * objects of other programs are omitted, because they may contain tokens, codes, secrets and whole bodies.
 */
export const safeCause = (error: unknown): Error => {
  if (typeof error === 'string') return new Error(error)
  if (error instanceof Error && ours.has(error)) return error
  const steps = stepsOf(error)
    .map(({ name, code, claim }) => known([fitting(NAME, name), fitting(CODE, code), fitting(NAME, claim)]).join(' '))
    .filter((words) => words !== '')
  return new Error(steps.join(' < ') || 'unknown error')
}
