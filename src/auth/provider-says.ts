const MOST = 200
const LONGEST_WORD = 24
const LEFT_OUT = '…'

/** A word of a sentence: letters, with what may stand around and between them. Names of a protocol (`redirect_uri`) are such. */
const WORD = /^["'(`«“[]*(\p{L}[\p{L}\p{M}]*(?:['’_/-]\p{L}[\p{L}\p{M}]*)*)["')`»”\].,:;!?]*$/u
/** Where small and capital letters meet: often in what a machine made up, hardly ever in a word. */
const HUMP = /\p{Ll}\p{Lu}/gu

const isWord = (word: string): boolean => {
  const [, letters] = WORD.exec(word) ?? []
  if (letters === undefined || (letters.match(HUMP)?.length ?? 0) > 2) return false
  return letters.split(/['’_/-]/).every((part) => part.length <= LONGEST_WORD)
}

/**
 * What a provider says of an error, as it may stand in the log: its words on one line. Left out are numbers, ids, addresses and all else that is
 * no word, and the texts of `secrets` wherever they stand.
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
  const said = Array.from(words.join(' ')).slice(0, MOST).join('')
  return said === '' || said === LEFT_OUT ? undefined : said
}
