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

/** The names, codes and claims along an error's causes, from the outermost on. */
export const codesOf = (error: unknown) => {
  const steps = stepsOf(error)
  return {
    names: known(steps.map(({ name }) => fitting(NAME, name))),
    codes: known(steps.map(({ code }) => fitting(CODE, code))),
    claims: known(steps.map(({ claim }) => fitting(NAME, claim))),
  }
}

/** What a failure of ours is about: the proxy, the file of an authority, or the answer itself. */
export type OwnFault = 'proxy' | 'authority' | 'answer'
const ours = new WeakMap<object, OwnFault>()

/** An error in words of ours, which may be logged as they are. */
export const ownError = (about: OwnFault, sentence: string): Error => {
  const error = new Error(sentence)
  ours.set(error, about)
  return error
}

/** What such an error is about; undefined for any other. */
export const ownFaultOf = (error: unknown): OwnFault | undefined =>
  error instanceof Error ? ours.get(error) : undefined

/**
 * What went wrong as an Error that may be logged: a sentence of ours, or the names and codes along an error's causes. Never a
 * foreign message or object: those of the libraries hold tokens, codes, secrets and whole bodies.
 */
export const safeCause = (error: unknown): Error => {
  if (typeof error === 'string') return new Error(error)
  if (error instanceof Error && ours.has(error)) return error
  const steps = stepsOf(error)
    .map(({ name, code, claim }) => known([fitting(NAME, name), fitting(CODE, code), fitting(NAME, claim)]).join(' '))
    .filter((words) => words !== '')
  return new Error(steps.join(' < ') || 'unknown error')
}
