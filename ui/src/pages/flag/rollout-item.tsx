import { ArrowDownIcon, ArrowSwitchIcon, ArrowUpIcon, TrashIcon } from '@primer/octicons-react'
import { Button, IconButton } from '../../parts/button.tsx'
import { Safe } from '../../parts/safe.tsx'
import { flag as words } from '../../words/flag.ts'
import { sentenceOf } from './changes.ts'
import type { RolloutDraft } from './draft.ts'
import type { Flaws } from '../../parts/editing.ts'
import { RolloutEditor } from './rollout-editor.tsx'

/** One rollout at its place: what it gives to whom, what can be done with it, and its editor. `n` counts from 0. */
export const RolloutItem = ({
  namespace,
  rollout,
  n,
  of,
  fresh,
  open,
  flaws,
  why,
  onOpen,
  onMove,
  onMoveTo,
  onRemove,
  onChange,
}: {
  readonly namespace: string
  readonly rollout: RolloutDraft
  readonly n: number
  readonly of: number
  readonly fresh: boolean
  readonly open: boolean
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly onOpen: (open: boolean) => void
  readonly onMove: (to: number, act: 'up' | 'down') => void
  readonly onMoveTo: () => void
  readonly onRemove: () => void
  readonly onChange: (part: Partial<RolloutDraft>) => void
}) => {
  const { id, description } = rollout
  return (
    <li className="card part" data-part={id}>
      <div className="bar">
        <span className="position" aria-hidden="true">
          {n + 1}
        </span>
        <h3>
          <Safe text={sentenceOf(rollout)} />
        </h3>
        <Button
          data-act="edit"
          why={why}
          aria-label={words.edit(n + 1)}
          aria-expanded={open}
          aria-keyshortcuts={n === 0 ? 'e' : undefined}
          onClick={() => onOpen(!open)}
        >
          {words.short.edit}
        </Button>
        <IconButton
          data-act="up"
          name={words.up(n + 1)}
          icon={<ArrowUpIcon />}
          why={why ?? (n === 0 ? words.first : undefined)}
          aria-keyshortcuts="Alt+ArrowUp"
          onClick={() => onMove(n - 1, 'up')}
        />
        <IconButton
          data-act="down"
          name={words.down(n + 1)}
          icon={<ArrowDownIcon />}
          why={why ?? (n === of - 1 ? words.last : undefined)}
          aria-keyshortcuts="Alt+ArrowDown"
          onClick={() => onMove(n + 1, 'down')}
        />
        <IconButton data-act="to" name={words.to(n + 1)} icon={<ArrowSwitchIcon />} why={why} onClick={onMoveTo} />
        <IconButton name={words.drop(n + 1)} icon={<TrashIcon />} why={why} onClick={onRemove} />
      </div>
      {description !== '' && (
        <p className="muted small">
          <Safe text={description} />
        </p>
      )}
      {open && (
        <RolloutEditor namespace={namespace} fresh={fresh} rollout={rollout} flaws={flaws} onChange={onChange} />
      )}
    </li>
  )
}
