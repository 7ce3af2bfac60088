import { useRef } from 'react'
import { usePreferences } from '../../preferences.ts'
import { common } from '../../words/common.ts'
import { pending } from '../../words/pending.ts'
import { Button } from '../button.tsx'
import { CopyButton } from '../copy.tsx'
import { Actions, Ask } from '../feedback/dialog.tsx'
import { Safe } from '../feedback/safe.tsx'
import { distanceWords, instantWords } from '../moment.ts'
import { type Change, ChangeLines } from './change-lines.tsx'

const { conflict, gone } = pending

/**
 * Dialog of a conflicting edit: shows the changes of both sides and offers to keep or discard the own ones (ui.md
 * §8.5).
 */
export const Conflict = ({
  thing,
  who,
  when,
  theirs,
  yours,
  onKeep,
  onDiscard,
}: {
  readonly thing: string
  /** Name of the other author and time of the change, if known. */
  readonly who: string | undefined
  readonly when: string | undefined
  readonly theirs: readonly Change[]
  readonly yours: readonly Change[]
  readonly onKeep: () => void
  readonly onDiscard: () => void
}) => {
  const { zone } = usePreferences()
  const distance = when === undefined ? undefined : (distanceWords(when) ?? instantWords(when, zone))
  return (
    <Ask title={conflict.title(thing)} open onClose={onKeep}>
      <p>
        <Safe text={conflict.why(who, distance)} />
      </p>
      <div className="side-by-side">
        <section className="tight">
          <h3>{conflict.theirs}</h3>
          {theirs.length === 0 ? <p>{conflict.same}</p> : <ChangeLines name={conflict.theirs} changes={theirs} />}
        </section>
        <section className="tight">
          <h3>{conflict.yours}</h3>
          <ChangeLines name={conflict.yours} changes={yours} />
        </section>
      </div>
      <Actions>
        <Button look="danger" onClick={onDiscard}>
          {conflict.discard}
        </Button>
        <Button look="primary" onClick={onKeep}>
          {conflict.keep}
        </Button>
      </Actions>
    </Ask>
  )
}

/** Dialog for an edited resource that was deleted: the changes can be copied. */
export const Gone = ({
  thing,
  json,
  onClose,
}: {
  readonly thing: string
  readonly json: string
  readonly onClose: () => void
}) => {
  const field = useRef<HTMLInputElement>(null)
  return (
    <Ask title={gone.title(thing)} open onClose={onClose}>
      <p>{gone.why}</p>
      <input ref={field} className="input mono" readOnly aria-label={gone.field} value={json} />
      <Actions>
        <CopyButton field={field} thing={gone.json}>
          {gone.copy}
        </CopyButton>
        <Button onClick={onClose}>{common.close}</Button>
      </Actions>
    </Ask>
  )
}
