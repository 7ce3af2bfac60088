import { XIcon } from '@primer/octicons-react'
import { IconButton } from '../button.tsx'
import { Safe } from '../feedback/safe.tsx'

/** Chosen values, each with a button to remove it. */
export const Chips = ({
  name,
  values,
  words = (value) => value,
  removeWords,
  onRemove,
}: {
  readonly name: string
  readonly values: readonly string[]
  /** Label of a value. */
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
