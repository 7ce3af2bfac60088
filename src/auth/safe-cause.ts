const NAME = /^[A-Za-z_]{1,64}$/
const CODE = /^[A-Z0-9_]{1,64}$/

/**
 * What went wrong as an Error that may be logged: a sentence of ours, or the names and codes along an error's causes. Never a
 * foreign message or object: those of the libraries hold tokens, codes, secrets and whole bodies.
 */
export const safeCause = (error: unknown): Error => {
  if (typeof error === 'string') return new Error(error)
  const steps: string[] = []
  for (
    let step = error;
    typeof step === 'object' && step !== null && steps.length < 8;
    step = (step as { cause?: unknown }).cause
  ) {
    const { name, code, claim } = step as { name?: unknown; code?: unknown; claim?: unknown }
    const words = [fitting(NAME, name), fitting(CODE, code), fitting(NAME, claim)].filter((word) => word !== undefined)
    if (words.length > 0) steps.push(words.join(' '))
  }
  return new Error(steps.join(' < ') || 'unknown error')
}

const fitting = (pattern: RegExp, word: unknown) => (typeof word === 'string' && pattern.test(word) ? word : undefined)
