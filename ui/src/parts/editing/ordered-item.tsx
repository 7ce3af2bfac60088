import { ArrowDownIcon, ArrowSwitchIcon, ArrowUpIcon, TrashIcon } from '@primer/octicons-react'
import type { ReactNode } from 'react'
import { type OrderedWords, order } from '../../words/ordered.ts'
import { Button, IconButton } from '../button.tsx'
import { Safe } from '../feedback/safe.tsx'

/** Item of an ordered list with its sentence, actions and editor. `n` counts from 0. */
export const OrderedItem = ({
  words,
  id,
  sentence,
  note,
  mark,
  n,
  of,
  open,
  why,
  onOpen,
  onMove,
  onMoveTo,
  onRemove,
  children,
}: {
  readonly words: OrderedWords
  readonly id: string
  readonly sentence: string
  readonly note: string
  readonly mark: string
  readonly n: number
  readonly of: number
  readonly open: boolean
  readonly why: string | undefined
  readonly onOpen: (open: boolean) => void
  readonly onMove: (to: number, act: 'up' | 'down') => void
  readonly onMoveTo: () => void
  readonly onRemove: () => void
  /** Editor of the item, if open. */
  readonly children: ReactNode
}) => (
  <li className="card part" data-part={id}>
    <div className="part-head">
      <span className="position" aria-hidden="true">
        {n + 1}
      </span>
      <h3>
        <Safe text={sentence} />
      </h3>
      <span className="row-actions">
        <Button
          data-act="edit"
          why={why}
          aria-label={words.edit(n + 1)}
          aria-expanded={open}
          aria-keyshortcuts={n === 0 ? 'e' : undefined}
          onClick={() => onOpen(!open)}
        >
          {order.edit}
        </Button>
        <IconButton
          data-act="up"
          name={words.up(n + 1)}
          icon={<ArrowUpIcon />}
          why={why ?? (n === 0 ? order.first : undefined)}
          aria-keyshortcuts="Alt+ArrowUp"
          onClick={() => onMove(n - 1, 'up')}
        />
        <IconButton
          data-act="down"
          name={words.down(n + 1)}
          icon={<ArrowDownIcon />}
          why={why ?? (n === of - 1 ? order.last : undefined)}
          aria-keyshortcuts="Alt+ArrowDown"
          onClick={() => onMove(n + 1, 'down')}
        />
        <IconButton data-act="to" name={words.to(n + 1)} icon={<ArrowSwitchIcon />} why={why} onClick={onMoveTo} />
        <IconButton name={words.drop(n + 1)} icon={<TrashIcon />} why={why} onClick={onRemove} />
      </span>
    </div>
    {mark !== '' && <p className="small">{mark}</p>}
    {note !== '' && (
      <p className="muted small">
        <Safe text={note} />
      </p>
    )}
    {children}
  </li>
)
