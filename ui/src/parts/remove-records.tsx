import { useState } from 'react'
import { EVERY } from '../api/access.ts'
import { Failure } from '../api/failure.ts'
import { type Authentication, boundTo, deletion } from '../api/tokens.ts'
import { useWrites } from '../api/write.ts'
import { identityOf } from '../identity.ts'
import { signedOutHere, useSession } from '../session.tsx'
import { common } from '../words/common.ts'
import { Button } from './button.tsx'
import { FailureAlert, messageOf } from './feedback/alert.tsx'
import { Actions, Ask, Dialog, useWayBack, type WayBack } from './feedback/dialog.tsx'
import { Safe } from './feedback/safe.tsx'
import { useSay } from './feedback/status.tsx'
import { TextField } from './fields/field.tsx'
import { useReason } from './fields/use-reason.ts'
import { LastUsed } from './last-used.tsx'

/** Texts of the removal of records of one kind. */
type RemovalWords = {
  readonly title: (name: string) => string
  readonly why: (name: string) => string
  readonly lastUsed: string
  readonly own: string
  readonly ownLast: string
  readonly submit: string
  readonly sending: string
  readonly done: (name: string) => string
  readonly failed: string
  readonly manyTitle: (n: number) => string
  readonly manyWhy: string
  readonly manySubmit: (n: number) => string
  readonly manyDone: (n: number) => string
  readonly someDone: (done: number, n: number) => string
  readonly results: string
  readonly deleted: string
  readonly notDeleted: (message: string) => string
}
type Result = { readonly record: Authentication; readonly failure: Failure | undefined }

/**
 * Deletes token records. The token of the present session is last, only if no other failed, and invalidates no queries.
 * Returns undefined while another deletion is in progress.
 */
const useDeletion = (ownId: string | undefined, ownLast: string) => {
  const { sendAll, sending } = useWrites()
  const remove = async (records: readonly Authentication[], reason: string): Promise<readonly Result[] | undefined> => {
    const others = records.filter(({ id }) => id !== ownId)
    const own = records.find(({ id }) => id === ownId)
    const outcomes = await sendAll(others.map(({ id }) => deletion(id, reason)))
    if (!outcomes) return undefined
    const results = others.map((record, n): Result => ({ record, failure: outcomes[n]?.failure }))
    if (!own) return results
    if (results.some(({ failure }) => failure)) {
      const failure = new Failure(ownLast, { status: 409, reason: 'own_last' })
      return [...results, { record: own, failure }]
    }
    const last = await sendAll([{ ...deletion(own.id, reason), stale: [] }])
    return last && [...results, { record: own, failure: last[0]?.failure }]
  }
  return { remove, sending }
}

type Ways = {
  readonly words: RemovalWords
  readonly onClose: () => void
  readonly onSubmit: () => void
  readonly sending: boolean
}

/** Dialog with the result for each token; failed deletions can be retried. */
const Results = ({
  words,
  results,
  onClose,
  onSubmit,
  sending,
  back,
}: Ways & { readonly results: readonly Result[]; readonly back: WayBack }) => (
  <Dialog
    title={words.someDone(results.filter(({ failure }) => !failure).length, results.length)}
    open
    onClose={onClose}
    back={back}
  >
    <ul aria-label={words.results} className="tight">
      {results.map(({ record, failure }) => (
        <li key={record.id}>
          <Safe text={identityOf(record)} />:{' '}
          {failure ? <Safe text={words.notDeleted(messageOf(failure, true))} /> : words.deleted}
        </li>
      ))}
    </ul>
    <Actions>
      <Button onClick={onClose}>{common.close}</Button>
      <Button look="danger solid" busy={sending ? words.sending : undefined} onClick={onSubmit}>
        {common.tryAgain}
      </Button>
    </Actions>
  </Dialog>
)

/** Dialog that removes tokens or sessions, at most four at a time, with a result for each. Failed deletions can be retried. */
export const RemoveRecords = ({
  records,
  words,
  onClose,
}: {
  readonly records: readonly Authentication[]
  readonly words: RemovalWords
  readonly onClose: (done: boolean) => void
}) => {
  const { authentication } = useSession()
  const [reason, setReason] = useState('')
  const [wrong, setWrong] = useState<string | undefined>()
  const { field, flawOf } = useReason(...records.map((record) => boundTo(record) ?? EVERY))
  const [results, setResults] = useState<readonly Result[]>([])
  const { remove, sending } = useDeletion(authentication?.id, words.ownLast)
  const say = useSay()
  const back = useWayBack()
  const one = records.length === 1 ? records[0] : undefined
  const failed = results.filter(({ failure }) => failure)
  const left = results.length === 0 ? records : failed.map(({ record }) => record)
  const own = records.some(({ id }) => id === authentication?.id)

  const submit = async () => {
    const flaw = flawOf(reason).reason
    setWrong(flaw)
    if (flaw !== undefined) return
    const now = await remove(left, reason)
    if (!now) return
    const all = [...results.filter(({ failure }) => !failure), ...now]
    if (all.some(({ failure }) => failure)) return setResults(all)
    if (own) return signedOutHere()
    say(one ? words.done(identityOf(one)) : words.manyDone(all.length))
    onClose(true)
  }

  const ways: Ways = { words, onClose: () => onClose(false), onSubmit: () => void submit(), sending }
  if (results.length > 0 && !one) return <Results results={results} back={back} {...ways} />
  return (
    <Ask
      title={one ? <Safe text={words.title(identityOf(one))} /> : words.manyTitle(records.length)}
      open
      onClose={ways.onClose}
      back={back}
    >
      <p>{one ? <Safe text={words.why(identityOf(one))} /> : words.manyWhy}</p>
      {one?.lastUsedAt !== undefined && (
        <p>
          {words.lastUsed} <LastUsed record={one} />.
        </p>
      )}
      {own && <p className="notice">{words.own}</p>}
      {failed[0]?.failure && <FailureAlert title={words.failed} failure={failed[0].failure} write />}
      <TextField {...field} value={reason} wrong={wrong} onChange={setReason} />
      <Actions>
        <Button onClick={ways.onClose}>{common.cancel}</Button>
        <Button look="danger solid" busy={sending ? words.sending : undefined} onClick={ways.onSubmit}>
          {results.length > 0 ? common.tryAgain : one ? words.submit : words.manySubmit(records.length)}
        </Button>
      </Actions>
    </Ask>
  )
}
