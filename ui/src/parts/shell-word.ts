/** What cannot be seen, or turns the direction of what follows: a terminal may act on it. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u
const plain = /^(?!=)[-\w.,:/=@%+]+$/

const octal = (text: string): string =>
  Array.from(new TextEncoder().encode(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** A character inside `$'…'`. A reader that does not know that form finds no quote, backslash or `!` in it to misread. */
const escaped = (character: string): string =>
  unseen.test(character) || `'\\!`.includes(character) ? octal(character) : character

/** A word for a shell that stands for the text, whatever is in it but U+0000; no character of it is a control character. */
export const shellWord = (text: string): string => {
  if (plain.test(text)) return text
  if (unseen.test(text)) return `$'${Array.from(text, escaped).join('')}'`
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
