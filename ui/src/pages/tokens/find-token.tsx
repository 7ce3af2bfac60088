import { Link } from '@tanstack/react-router'
import { type FormEvent, useId, useRef, useState } from 'react'
import type { TokenFound } from '../../../../src/contract/history/searches.ts'
import { useAttempt } from '../../api/attempt.ts'
import { findToken } from '../../api/searches.ts'
import type { Authentication } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { methodOf } from '../../login-methods.ts'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Dialog } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { described, FieldWords } from '../../parts/fields/field-words.tsx'
import { flawOf, TokenInput, tokenIn } from '../../parts/fields/token-input.tsx'
import { common } from '../../words/common.ts'
import { tokens } from '../../words/tokens.ts'
import { StatusBadge } from './facts.tsx'

const words = tokens.find

/** SHA-256 in hexadecimal. The hash of the browser itself needs https. */
const sha256Of = async (text: string): Promise<string> => {
  const { sha256 } = await import('@noble/hashes/sha2.js')
  return Array.from(sha256(new TextEncoder().encode(text)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const Record = ({ record, onClose }: { readonly record: Authentication; readonly onClose: () => void }) => {
  const to = methodOf(record) === 'token' ? '/settings/tokens/$id' : '/settings/sessions/$id'
  return (
    <Link to={to} params={{ id: record.id }} search={{ at: undefined } as never} onClick={onClose}>
      <Safe text={identityOf(record)} />
    </Link>
  )
}

const Result = ({ found, onClose }: { readonly found: TokenFound; readonly onClose: () => void }) => {
  const { authentication: record, events = 0, notSearchable = 0 } = found
  if (record)
    return (
      <div role="status" className="stack">
        <p className="bar">
          <Record record={record} onClose={onClose} /> <StatusBadge record={record} />
        </p>
        <p className="muted">{words.events(events)}</p>
      </div>
    )
  return (
    <div role="status">
      <p>{words.none}</p>
      {notSearchable > 0 && <p>{words.notSearchable(notSearchable)}</p>}
    </div>
  )
}

/**
 * Dialog that finds the record of a token. Only the SHA-256 of the token leaves the field, which is then cleared
 * (ui.md §11.12).
 */
export const FindToken = ({ onClose }: { readonly onClose: () => void }) => {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [wrong, setWrong] = useState<string | undefined>()
  const { busy, failure, attempt } = useAttempt()
  const [found, setFound] = useState<TokenFound | undefined>()
  const said = { hint: words.why, wrong }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const input = field.current
    if (busy || !input) return
    const token = tokenIn(input)
    const flaw = flawOf(token)
    setWrong(flaw)
    setFound(undefined)
    void attempt(async () => {
      if (flaw !== undefined) return input.focus()
      const digest = await sha256Of(token)
      input.value = ''
      setFound(await findToken(digest))
    })
  }
  return (
    <Dialog title={words.title} open onClose={onClose} initialFocus={field}>
      <form className="form" onSubmit={submit} noValidate>
        {failure && <FailureAlert title={words.failed} failure={failure} />}
        <div className="field">
          <label className="label" htmlFor={id}>
            {words.token}
          </label>
          <TokenInput field={field} id={id} wrong={wrong} describedBy={described(id, said)} />
          <FieldWords id={id} {...said} />
        </div>
        {found && <Result found={found} onClose={onClose} />}
        <Actions>
          <Button onClick={onClose}>{common.close}</Button>
          <SubmitButton busy={busy ? words.sending : undefined}>{words.submit}</SubmitButton>
        </Actions>
      </form>
    </Dialog>
  )
}
