/** Invisible and direction-changing characters, on which a terminal may act. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u
const plain = /^(?!=)[-\w.,:/=@%+]+$/

const octal = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/**
 * Escapes a character inside `$'…'`. Quotes, backslashes and `!` are octal too, so that a shell without this syntax
 * cannot misinterpret them.
 */
const escaped = (character: string): string =>
  unseen.test(character) || `'\\!`.includes(character) ? octal(character) : character

/** Quotes a text as a POSIX shell word without control characters. The text must not contain U+0000. */
export const shellWord = (text: string): string => {
  if (plain.test(text)) return text
  if (unseen.test(text)) return `$'${Array.from(text, escaped).join('')}'`
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
