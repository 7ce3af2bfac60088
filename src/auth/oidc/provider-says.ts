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
