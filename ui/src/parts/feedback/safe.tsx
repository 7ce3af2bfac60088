import { Fragment } from 'react'

/** Invisible and direction-changing characters, except tabs and line ends. */
const unseen = /([\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}])/u
const kept = new Set(['\n', '\r', '\t', '\u200d', '\ufe0f'])

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/**
 * Replaces invisible characters of an external text by their code in brackets, for places that take plain text only.
 */
export const seen = (text: string): string =>
  unseen.test(text)
    ? text
        .split(unseen)
        .map((piece, index) => (index % 2 === 1 && !kept.has(piece) ? `[${codeOf(piece)}]` : piece))
        .join('')
    : text

/** Renders an external text: invisible characters as a box with their code, isolated in its direction. */
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

/** External text of a program in a line. */
export const CodeText = ({ text, look }: { readonly text: string; readonly look?: string }) => (
  <code className={look}>
    <Safe text={text} />
  </code>
)
