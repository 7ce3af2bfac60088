import { XIcon } from '@primer/octicons-react'
import { IconButton } from '../button.tsx'
import { Safe } from '../feedback/safe.tsx'

/** Values that were chosen or entered, each with a way to take it back. */
export const Chips = ({
  name,
  values,
  words = (value) => value,
  removeWords,
  onRemove,
}: {
  readonly name: string
  readonly values: readonly string[]
  /** How a value is shown. */
  readonly words?: (value: string) => string
  readonly removeWords: (value: string) => string
  readonly onRemove: (value: string) => void
}) =>
  values.length === 0 ? null : (
    <ul className="bar" aria-label={name}>
      {values.map((value) => (
        <li key={value} className="badge bare chip">
          <Safe text={words(value)} />
          <IconButton
            name={removeWords(words(value))}
            icon={<XIcon size={12} />}
            look="icon plain"
            onClick={() => onRemove(value)}
          />
        </li>
      ))}
    </ul>
  )
