import { useBlocker } from '@tanstack/react-router'
import { useCallback, useId, useRef, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { type Authentication, deletion, type IssuedToken, nameOf } from '../../api/tokens.ts'
import { useWrite } from '../../api/write.ts'
import { Button } from '../../parts/button.tsx'
import { curlOf } from '../../parts/command-line.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Ask, Dialog } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { Checkbox } from '../../parts/fields/field.tsx'
import { common } from '../../words/common.ts'
import { tokens } from '../../words/tokens.ts'

const { reveal: words, remove } = tokens

/** Downloads a file with the token, created in the browser. */
const download = (name: string, token: string): void => {
  const url = URL.createObjectURL(new Blob([`${token}\n`], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${name.replaceAll(/[^\w.-]+/g, '_')}.token`
  link.click()
  URL.revokeObjectURL(url)
}

/**
 * Dialog that shows a token once. The dialog closes only with “Done”, after the checkbox is ticked. The token is only
 * in a field of this dialog.
 */
export const Reveal = ({ issued, onDone }: { readonly issued: IssuedToken; readonly onDone: () => void }) => {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [stored, setStored] = useState(false)
  const [early, setEarly] = useState(false)
  const name = nameOf(issued.authentication)
  const token = issued.clientToken!
  const blocker = useBlocker({ shouldBlockFn: () => true, withResolver: true, enableBeforeUnload: true })
  const fill = useCallback(
    (input: HTMLInputElement | null) => {
      field.current = input
      if (input) input.value = token
    },
    [token],
  )
  const done = () => {
    if (!stored) return setEarly(true)
    field.current!.value = ''
    onDone()
  }
  const curl = curlOf('auth/v1/self')
  return (
    <>
      <Dialog title={words.title} open onClose={() => undefined} firm initialFocus={field}>
        <p>
          <strong>{words.copyNow}</strong> {words.once}
        </p>
        <div className="field">
          <label className="label" htmlFor={id}>
            {words.token}
          </label>
          <input ref={fill} id={id} className="input mono" readOnly onFocus={(event) => event.target.select()} />
        </div>
        <div className="bar">
          <CopyButton field={field} thing="token">
            {words.copy}
          </CopyButton>
          <Button onClick={() => download(name, token)}>{words.download}</Button>
        </div>
        <pre className="code">
          <code>{curl}</code>
        </pre>
        <Checkbox
          label={words.stored}
          checked={stored}
          onChange={(on) => {
            setStored(on)
            setEarly(false)
          }}
        />
        {early && (
          <p role="alert" className="wrong">
            {words.early}
          </p>
        )}
        <Actions>
          <Button look="primary" onClick={done}>
            {words.done}
          </Button>
        </Actions>
      </Dialog>
      <Ask title={words.leaveTitle} open={blocker.status === 'blocked'} onClose={() => blocker.reset?.()}>
        <p>{words.leaveWhy}</p>
        <Actions>
          <Button onClick={() => blocker.reset?.()}>{common.stay}</Button>
          <Button look="danger" onClick={() => blocker.proceed?.()}>
            {common.leave}
          </Button>
        </Actions>
      </Ask>
    </>
  )
}

/** Dialog for a token that was created but whose value was lost with the answer. */
export const LostToken = ({ record, onClose }: { readonly record: Authentication; readonly onClose: () => void }) => {
  const [failure, setFailure] = useState<Failure | undefined>()
  const { send, sending } = useWrite()
  const say = useSay()
  const name = nameOf(record)
  const drop = async () => {
    const outcome = await send(deletion(record.id, ''))
    if (!outcome) return
    if (!outcome.done) return setFailure(outcome.failure)
    say(remove.done(name))
    onClose()
  }
  return (
    <Dialog title={words.lostTitle} open onClose={onClose}>
      <p>
        <Safe text={words.lost(name)} />
      </p>
      {failure && <FailureAlert title={remove.failed} failure={failure} write />}
      <Actions>
        <Button onClick={onClose}>{common.close}</Button>
        <Button look="danger solid" busy={sending ? remove.sending : undefined} onClick={() => void drop()}>
          {words.deleteThis}
        </Button>
      </Actions>
    </Dialog>
  )
}
