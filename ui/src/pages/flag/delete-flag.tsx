import { type FormEvent, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { flagDeletion, type Loaded } from '../../api/flags.ts'
import { useWrite } from '../../api/write.ts'
import { FailureAlert } from '../../parts/alert.tsx'
import { Button } from '../../parts/button.tsx'
import { Actions, Ask } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { tooLong } from '../../parts/rules.ts'
import { Safe } from '../../parts/safe.tsx'
import { useSay } from '../../parts/status.tsx'
import { useFocusFirstWrong } from '../../parts/wrong.ts'
import { common } from '../../words/common.ts'
import { flag } from '../../words/flag.ts'

const words = flag.remove

/** Asks whether a flag goes, and deletes it at the revision that was shown. */
export const DeleteFlag = ({
  loaded: { flag: thing, revision },
  confirm,
  onClose,
  onDeleted,
}: {
  readonly loaded: Loaded
  /** The key is to be typed. */
  readonly confirm: boolean
  readonly onClose: () => void
  readonly onDeleted: () => void
}) => {
  const { key } = thing
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [wrong, setWrong] = useState<Partial<Record<'key' | 'reason', string>>>({})
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const say = useSay()
  const focusWrong = useFocusFirstWrong()

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const flaws = { ...(confirm && typed !== key && { key: words.wrong(key) }), ...tooLong('reason', reason, 500) }
    setWrong(flaws)
    setFailure(undefined)
    if (Object.keys(flaws).length > 0) return focusWrong()
    const outcome = await send(flagDeletion(thing, revision, reason))
    if (!outcome) return
    if (!outcome.done) return setFailure(outcome.failure)
    say(words.done(key))
    onDeleted()
  }
  return (
    <Ask title={<Safe text={words.title(key)} />} open onClose={onClose}>
      <form className="stack" noValidate onSubmit={(event) => void submit(event)}>
        <p>{words.why}</p>
        {failure && (
          <FailureAlert
            title={words.failed}
            failure={failure}
            write
            {...(failure.status === 412 && { words: words.moved })}
          />
        )}
        {confirm && <TextField label={words.confirm} mono value={typed} wrong={wrong.key} onChange={setTyped} />}
        <TextField
          label={common.reason}
          hint={common.reasonHint}
          value={reason}
          wrong={wrong.reason}
          onChange={setReason}
        />
        <Actions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" look="danger solid" busy={sending ? words.sending : undefined}>
            {words.submit}
          </Button>
        </Actions>
      </form>
    </Ask>
  )
}
