import { type ReactNode, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { states } from '../../words/common.ts'
import { pending } from '../../words/pending.ts'
import { Button, SubmitButton } from '../button.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { Actions, Dialog } from '../feedback/dialog.tsx'
import { TextField } from '../fields/field.tsx'
import { useAddressedNamespace, useReason } from '../fields/use-reason.ts'
import { type Change, ChangeLines } from './change-lines.tsx'

/** Dialog that lists all changes before they are saved, and asks for a reason. */
export const Review = ({
  changes,
  failure,
  sending,
  why,
  reason,
  onReason,
  onClose,
  onSave,
  children,
}: {
  readonly changes: readonly Change[]
  readonly failure: Failure | undefined
  readonly sending: boolean
  readonly why: string | undefined
  readonly reason: string
  readonly onReason: (reason: string) => void
  readonly onClose: () => void
  readonly onSave: (reason: string) => void
  /** Effect of the changes. */
  readonly children?: ReactNode
}) => {
  const [wrong, setWrong] = useState<string | undefined>()
  const { field, flawOf } = useReason(useAddressedNamespace())
  const save = () => {
    const { reason: flaw } = flawOf(reason)
    setWrong(flaw)
    if (flaw === undefined && why === undefined) onSave(reason)
  }
  return (
    <Dialog title={pending.review} open onClose={onClose} drawer>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        {failure && <FailureAlert title={states.nothingSaved} failure={failure} write />}
        <ChangeLines name={pending.changes} changes={changes} />
        {children}
        <TextField
          {...field}
          {...(!field.required && { hint: pending.reasonHint })}
          value={reason}
          wrong={wrong}
          onChange={onReason}
        />
        <Actions>
          <Button onClick={onClose}>{pending.keepEditing}</Button>
          <SubmitButton why={why} busy={sending ? pending.saving : undefined}>
            {pending.save}
          </SubmitButton>
        </Actions>
      </form>
    </Dialog>
  )
}
