import { EyeClosedIcon, EyeIcon } from '@primer/octicons-react'
import { type FormEvent, useId, useRef, useState } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { startSession } from '../../api/session.ts'
import { looksCutOff } from '../../client-token.ts'
import { rememberSessionEnd } from '../../preferences.ts'
import { login } from '../../words/login.ts'
import { Button } from '../button.tsx'
import { messageOf, RequestId } from '../feedback/alert.tsx'
import { described, FieldWords } from './field-words.tsx'
import { flawOf, TokenInput, tokenIn } from './token-input.tsx'

type Refused = { readonly words: string; readonly hint?: string | undefined; readonly requestId?: string | undefined }

const refusedWith = (failure: Failure, token: string): Refused => {
  const { status, reason, requestId } = failure
  const words =
    status === 401
      ? login.unknown
      : reason === 'token_scoped'
        ? login.scoped
        : reason === 'right_missing'
          ? login.rightMissing
          : messageOf(failure)
  return { words, requestId, ...(status === 401 && looksCutOff(token) && { hint: login.cutOff }) }
}

/** Form to sign in with a client token. The field is cleared after the answer, and the token is not stored. */
export const TokenForm = ({ onSignedIn }: { readonly onSignedIn: () => void }) => {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [shown, setShown] = useState(false)
  const [sending, setSending] = useState(false)
  const [wrong, setWrong] = useState<string | undefined>()
  const [refused, setRefused] = useState<Refused | undefined>()

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const input = field.current
    if (sending || !input) return
    const token = tokenIn(input)
    setRefused(undefined)
    const flaw = flawOf(token)
    setWrong(flaw)
    if (flaw !== undefined) return input.focus()
    setSending(true)
    try {
      const { sessionEndsAt } = await startSession(token)
      rememberSessionEnd(sessionEndsAt)
      input.value = ''
      onSignedIn()
    } catch (error) {
      if (!isFailure(error)) throw error
      input.value = ''
      setRefused(refusedWith(error, token))
      input.focus()
    } finally {
      setSending(false)
    }
  }

  return (
    <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
      {refused && (
        <div role="alert" className="alert">
          <strong>{login.failed}</strong>
          <p>{refused.words}</p>
          {refused.hint !== undefined && <p>{refused.hint}</p>}
          {refused.requestId !== undefined && <RequestId id={refused.requestId} />}
        </div>
      )}
      <div className="field">
        <label className="label" htmlFor={id}>
          {login.token}
        </label>
        <div className="with-button">
          <TokenInput field={field} id={id} shown={shown} wrong={wrong} describedBy={described(id, { wrong })} />
          <Button aria-label={login.show} aria-pressed={shown} onClick={() => setShown(!shown)}>
            {shown ? <EyeClosedIcon /> : <EyeIcon />}
          </Button>
        </div>
        <FieldWords id={id} wrong={wrong} />
      </div>
      <Button type="submit" look="primary" busy={sending ? login.sending : undefined}>
        {login.submit}
      </Button>
    </form>
  )
}
