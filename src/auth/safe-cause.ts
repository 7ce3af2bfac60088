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

const MOST = 200
const LONGEST_WORD = 24
const LEFT_OUT = '…'

/** A word: letters with punctuation around and between them. Protocol names such as `redirect_uri` count as words. */
const WORD = /^["'(`«“[]*(\p{L}[\p{L}\p{M}]*(?:['’_/-]\p{L}[\p{L}\p{M}]*)*)["')`»”\].,:;!?]*$/u
/** A change from lower to upper case: frequent in generated ids, rare in words. */
const HUMP = /\p{Ll}\p{Lu}/gu

const isWord = (word: string): boolean => {
  const [, letters] = WORD.exec(word) ?? []
  if (letters === undefined || (letters.match(HUMP)?.length ?? 0) > 2) return false
  return letters.split(/['’_/-]/).every((part) => part.length <= LONGEST_WORD)
}

/**
 * Filters a provider's error description for the log: its words on one line. Numbers, ids, addresses and other
 * non-words are left out, and so is each text of `secrets`.
 */
export const providerSays = (description: unknown, secrets: readonly string[]): string | undefined => {
  if (typeof description !== 'string') return undefined
  const known = secrets.filter((secret) => secret.length >= 4).toSorted((one, other) => other.length - one.length)
  const without = known.reduce((text, secret) => text.replaceAll(secret, LEFT_OUT), description.slice(0, 4 * MOST))
  const words = without
    .split(/[\p{Z}\p{C}\s]+/u)
    .filter((word) => word !== '')
    .map((word) => (isWord(word) ? word : LEFT_OUT))
    .filter((word, n, all) => word !== LEFT_OUT || all[n - 1] !== LEFT_OUT)
  const filtered = Array.from(words.join(' ')).slice(0, MOST).join('')
  return filtered === '' || filtered === LEFT_OUT ? undefined : filtered
}
