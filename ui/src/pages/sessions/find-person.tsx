import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { EVERY } from '../../api/access.ts'
import { useAttempt } from '../../api/attempt.ts'
import { type FoundSessions, findSessions } from '../../api/searches.ts'
import type { Authentication } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { Button, SubmitButton } from '../../parts/button.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Actions, Dialog, useWayBack } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { RemoveRecords } from '../../parts/remove-records.tsx'
import { Time } from '../../parts/time.tsx'
import { useWhyNot } from '../../why-not.ts'
import { common } from '../../words/common.ts'
import { sessions } from '../../words/sessions.ts'
import { useHow } from './facts.tsx'

const words = sessions.find

/** Sessions found, each as a link with its provider and times. */
const Sessions = ({ found, onClose }: { readonly found: readonly Authentication[]; readonly onClose: () => void }) => {
  const howOf = useHow()
  return (
    <ul className="tight" aria-label={words.found}>
      {found.map((record) => (
        <li key={record.id}>
          <Link to="/settings/sessions/$id" params={{ id: record.id }} onClick={onClose}>
            <Safe text={identityOf(record)} />
          </Link>{' '}
          <span className="muted small">
            <Safe text={howOf(record)} /> · {sessions.columns.createdLabel} <Time instant={record.createdAt} /> ·{' '}
            {sessions.columns.ends} <Time instant={record.expiresAt} />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Joins the result of a further page with the earlier ones. */
const joined = (before: FoundSessions | undefined, next: FoundSessions): FoundSessions =>
  before
    ? {
        ...next,
        authentications: [...before.authentications, ...next.authentications],
        examined: before.examined + next.examined,
      }
    : next

/** Result of a search for a person, kept only in the dialog. */
const useSearch = () => {
  const [found, setFound] = useState<FoundSessions | undefined>()
  const { busy, failure, attempt } = useAttempt()
  const search = async (person: string, before?: FoundSessions) => {
    if (busy) return
    setFound(before)
    await attempt(async () => setFound(joined(before, await findSessions(person, before?.nextPageToken ?? ''))))
  }
  return { found, failure, sending: busy, search }
}

/**
 * Dialog that finds the live sessions of a person at all providers and ends them together. The person is in the body of
 * the request only (ui.md §11.13).
 */
export const FindPerson = ({
  begin = '',
  onClose,
}: {
  /** First text of the field. */
  readonly begin?: string
  readonly onClose: () => void
}) => {
  const [person, setPerson] = useState(begin)
  const [wrong, setWrong] = useState<string | undefined>()
  const [ending, setEnding] = useState(false)
  const { found, failure, sending, search } = useSearch()
  const why = useWhyNot(undefined, { right: 'token.revoke', namespaceKey: EVERY })
  const back = useWayBack()
  const asked = person.trim()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setWrong(asked === '' ? words.missing : undefined)
    if (asked !== '') void search(asked)
  }
  const records = found?.authentications ?? []
  if (ending)
    return (
      <RemoveRecords records={records} words={sessions.end} onClose={(done) => (done ? onClose() : setEnding(false))} />
    )
  return (
    <Dialog title={words.title} open onClose={onClose} back={back}>
      <form className="form" onSubmit={submit} noValidate>
        <p className="muted">{words.why}</p>
        {failure && <FailureAlert title={words.failed} failure={failure} />}
        <TextField label={words.person} hint={words.hint} value={person} wrong={wrong} onChange={setPerson} />
        {found && (
          <div role="status">
            {records.length === 0 ? words.none(found.examined) : words.count(records.length, found.examined)}
          </div>
        )}
        {records.length > 0 && <Sessions found={records} onClose={onClose} />}
        {found && found.nextPageToken !== '' && (
          <div>
            <Button busy={sending ? words.sending : undefined} onClick={() => void search(asked, found)}>
              {words.goOn}
            </Button>
          </div>
        )}
        <Actions>
          <Button onClick={onClose}>{common.close}</Button>
          {records.length > 0 && (
            <Button look="danger" why={why} onClick={() => setEnding(true)}>
              {sessions.end.manySubmit(records.length)}
            </Button>
          )}
          <SubmitButton busy={sending ? words.sending : undefined}>{words.submit}</SubmitButton>
        </Actions>
      </form>
    </Dialog>
  )
}
