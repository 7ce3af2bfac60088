import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { EVERY } from '../../api/access.ts'
import type { Failure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { type Authentication, countSessions, deletion, revocation } from '../../api/tokens.ts'
import { useWrite, type Write } from '../../api/write.ts'
import { type Holder, holderOf, identityOf } from '../../identity.ts'
import { Button } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Ask } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { useReason } from '../../parts/fields/use-reason.ts'
import { signedOutHere, useSession } from '../../session.tsx'
import { common } from '../../words/common.ts'
import { sessions } from '../../words/sessions.ts'

const words = sessions.end

/** Sessions to end: one, or all of its holder. */
export type Ending = { readonly record: Authentication; readonly all?: Holder }

type Question = {
  readonly title: string
  readonly name: string
  readonly own: boolean
  readonly failed: string
  readonly submit: string
  readonly write: (reason: string) => Write
  readonly done: (answer: { readonly revoked?: number }) => string
  readonly onClose: () => void
}

/** Confirmation dialog that ends sessions. Ending the own session signs the user out. */
const EndAsk = ({ title, name, own, failed, submit, write, done, onClose }: Question) => {
  const [reason, setReason] = useState('')
  const [failure, setFailure] = useState<Failure | undefined>()
  const [wrong, setWrong] = useState<string | undefined>()
  const { field, flawOf } = useReason(EVERY)
  const { send, sending } = useWrite()
  const say = useSay()
  const end = async () => {
    const flaw = flawOf(reason).reason
    setWrong(flaw)
    if (flaw !== undefined) return
    const order = write(reason)
    // Invalidate nothing, because the own session is no longer valid.
    const outcome = await send<{ readonly revoked?: number }>(own ? { ...order, stale: [] } : order)
    if (!outcome) return
    if (!outcome.done) return setFailure(outcome.failure)
    if (own) return signedOutHere()
    say(done(outcome.value))
    onClose()
  }
  return (
    <Ask title={<Safe text={title} />} open onClose={onClose}>
      <p>
        <Safe text={words.why(name)} />
      </p>
      {own && <p className="notice">{words.own}</p>}
      {failure && <FailureAlert title={failed} failure={failure} write />}
      <TextField {...field} value={reason} wrong={wrong} onChange={setReason} />
      <Actions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button look="danger solid" busy={sending ? words.sending : undefined} onClick={() => void end()}>
          {submit}
        </Button>
      </Actions>
    </Ask>
  )
}

const EndAll = ({
  record,
  all,
  onClose,
}: {
  readonly record: Authentication
  readonly all: Holder
  readonly onClose: () => void
}): ReactNode => {
  const { authentication } = useSession()
  const name = identityOf(record)
  const { data: n } = useQuery({
    queryKey: [...keys.tokens, 'of', all],
    queryFn: ({ signal }) => countSessions(all, signal),
    staleTime: 0,
  })
  return (
    <EndAsk
      title={words.allTitle(n, name)}
      name={name}
      own={holderOf(record) === holderOf(authentication)}
      failed={words.allFailed}
      submit={words.submitAll}
      write={(reason) => revocation(all, reason)}
      done={({ revoked = 0 }) => words.allDone(revoked, name)}
      onClose={onClose}
    />
  )
}

/** Dialog that ends one session, or all of a holder (ui.md §11.13). */
export const EndSessions = ({
  ending: { record, all },
  onClose,
}: {
  readonly ending: Ending
  readonly onClose: () => void
}) => {
  const { authentication } = useSession()
  const name = identityOf(record)
  if (all) return <EndAll record={record} all={all} onClose={onClose} />
  return (
    <EndAsk
      title={words.title(name)}
      name={name}
      own={record.id === authentication?.id}
      failed={words.failed}
      submit={words.submit}
      write={(reason) => deletion(record.id, reason)}
      done={() => words.done(name)}
      onClose={onClose}
    />
  )
}
