import { type FormEvent, type ReactNode, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { useWrite, type Write } from '../../api/write.ts'
import { common } from '../../words/common.ts'
import { removal } from '../../words/pending.ts'
import { Button } from '../button.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { Actions, Ask, type WayBack } from '../feedback/dialog.tsx'
import { Safe } from '../feedback/safe.tsx'
import { useFocusFirstWrong } from '../feedback/wrong.ts'
import { TextField } from '../fields/field.tsx'
import { useAddressedNamespace, useReason } from '../fields/use-reason.ts'

/** Confirmation dialog that deletes a resource at the revision that was shown. */
export const Remove = ({
  title,
  words,
  namespace,
  confirm,
  writeOf,
  onRefused = () => false,
  onClose,
  onDone,
  back,
  children,
}: {
  readonly title: string
  readonly words: { readonly submit: string; readonly failed: string }
  /** Namespace of the resource, if the address of the page does not name it. */
  readonly namespace?: string
  /** Text that the user must type to confirm, and the label of its field. */
  readonly confirm?: { readonly label: string; readonly text: string } | undefined
  readonly writeOf: (reason: string) => Write
  /** Called on a failure; returns true if the caller shows it. */
  readonly onRefused?: (failure: Failure) => boolean
  readonly onClose: () => void
  readonly onDone: () => void
  readonly back?: WayBack
  /** Consequences of the deletion. */
  readonly children: ReactNode
}) => {
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [wrong, setWrong] = useState<Partial<Record<'typed' | 'reason', string>>>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const focusWrong = useFocusFirstWrong()
  const addressed = useAddressedNamespace()
  const { field, flawOf } = useReason(namespace ?? addressed)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const flaws = {
      ...(confirm && typed !== confirm.text && { typed: removal.wrong(confirm.text) }),
      ...flawOf(reason),
    }
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const outcome = await send(writeOf(reason))
    if (!outcome) return
    if (outcome.done) onDone()
    else if (!onRefused(outcome.failure)) setFailure(outcome.failure)
  }
  return (
    <Ask title={<Safe text={title} />} open onClose={onClose} back={back}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {children}
        {failure && (
          <FailureAlert
            title={words.failed}
            failure={failure}
            write
            {...(failure.status === 412 && { words: removal.moved })}
          />
        )}
        {confirm && <TextField label={confirm.label} mono value={typed} wrong={wrong.typed} onChange={setTyped} />}
        <TextField {...field} value={reason} wrong={wrong.reason} onChange={setReason} />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" look="danger solid" busy={sending ? removal.sending : undefined}>
            {words.submit}
          </Button>
        </Actions>
      </form>
    </Ask>
  )
}
