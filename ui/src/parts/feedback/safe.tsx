import { Fragment } from 'react'

/** Characters that cannot be seen, or that turn the direction of what follows; tabs and line ends apart. */
const unseen = /([\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}])/u
const kept = new Set(['\n', '\r', '\t', '\u200d', '\ufe0f'])

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** A text from outside where only text can stand: what cannot be seen in it is its code in brackets. */
export const seen = (text: string): string =>
  unseen.test(text)
    ? text
        .split(unseen)
        .map((piece, index) => (index % 2 === 1 && !kept.has(piece) ? `[${codeOf(piece)}]` : piece))
        .join('')
    : text

/** A text from outside, as text: what cannot be seen in it is drawn as a box with its code, and its direction is its own. */
export const Safe = ({ text }: { readonly text: string }) => {
  if (text === '') return null
  if (!unseen.test(text)) return <bdi>{text}</bdi>
  const pieces = text.split(unseen)
  return (
    <bdi>
      {pieces.map((piece, index) =>
        index % 2 === 1 && !kept.has(piece) ? (
          <span className="invisible-character" key={index}>
            {codeOf(piece)}
          </span>
        ) : (
          <Fragment key={index}>{piece}</Fragment>
        ),
      )}
    </bdi>
  )
}
