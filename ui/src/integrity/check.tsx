import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAttempt } from '../api/attempt.ts'
import { type Failure, isFailure } from '../api/failure.ts'
import { keys } from '../api/keys.ts'
import type { LedgerStatus } from '../api/ledger.ts'
import { Button } from '../parts/button.tsx'
import { FailureAlert } from '../parts/feedback/alert.tsx'
import { CodeText } from '../parts/feedback/safe.tsx'
import { TextArea } from '../parts/fields/field.tsx'
import { Time } from '../parts/time.tsx'
import { storeOf } from '../store.ts'
import { integrity as words } from '../words/integrity.ts'
import { type Break, signingKeyOf, trustSigningKey, useRemembered } from './remembered.ts'
import type { Standing } from './standing.ts'
import { type Comparison, compareSaved, type Verdict, verifyHere } from './verify.ts'

/** Check by this browser. It continues while other pages are open. */
type Run = {
  /** While it runs: the events that are done, and their number once the checkpoint is read. */
  readonly progress?: { readonly done: number; readonly size?: number }
  /** Sentence about its end; a break has its own alert. */
  readonly result?: string
  readonly failure?: Failure
}
const run = storeOf<Run>({})
let stop: AbortController | undefined

const resultOf = (verdict: Verdict): string => {
  if (verdict.kind === 'verified' || verdict.kind === 'unchecked') return words[verdict.kind](verdict.size)
  return verdict.kind === 'unsealed' ? words.unsealed : ''
}

/** Begins a check, unless one is running. The result of a check that is stopped is not remembered. */
const beginRun = async (): Promise<void> => {
  if (run.get().progress) return
  stop = new AbortController()
  const { signal } = stop
  run.set({ progress: { done: 0 } })
  try {
    const verdict = await verifyHere(signal, (done, size) => !signal.aborted && run.set({ progress: { done, size } }))
    run.set({ result: resultOf(verdict) })
  } catch (error) {
    if (signal.aborted) return run.set({ result: words.stopped })
    run.set(isFailure(error) ? { failure: error } : {})
    if (!isFailure(error)) throw error
  }
}

/** Alert of a break that this browser found. */
const BreakAlert = ({
  broken: { cause, index = 0, at },
  banner,
}: {
  readonly broken: Break
  readonly banner: string
}) => {
  const sentence = words.cause[cause]
  return (
    <div role="alert" className="alert">
      <strong>{banner}</strong>
      <p>{typeof sentence === 'string' ? sentence : sentence(index)}</p>
      <span className="small muted">
        <Time instant={at} exact />
      </span>
    </div>
  )
}

/** Alert of another key, with a button that trusts it. */
const OtherKey = ({ status }: { readonly status: LedgerStatus }) => {
  const vkey = signingKeyOf(status)
  return (
    <div role="alert" className="alert">
      <strong>{words.bannerOther}</strong>
      <p>{words.otherKey}</p>
      {vkey !== undefined && (
        <>
          <p>
            {words.otherKeyIs} <CodeText look="wrapping" text={vkey} />
          </p>
          <div>
            <Button onClick={() => trustSigningKey(status)}>{words.trust}</Button>
          </div>
        </>
      )}
    </div>
  )
}

/** Check of the history by this browser, with its progress and result. */
export const Check = ({ standing, status }: { readonly standing: Standing; readonly status: LedgerStatus }) => {
  const { progress, result, failure } = run.use()
  const client = useQueryClient()
  const verify = async () => {
    await beginRun()
    await client.invalidateQueries({ queryKey: keys.ledger, exact: true })
  }
  const broken = useRemembered()?.broken
  return (
    <section className="stack">
      {broken && <BreakAlert broken={broken} banner={words.banner(broken.index)} />}
      {standing.kind === 'other' && <OtherKey status={status} />}
      <p className="muted">{words.hereAbout}</p>
      {progress && (
        <div className="tight">
          <progress aria-label={words.progress} max={progress.size} value={progress.size && progress.done} />
          <span className="small">{words.progressOf(progress)}</span>
        </div>
      )}
      <div className="bar">
        {progress ? (
          <Button onClick={() => stop?.abort()}>{words.stop}</Button>
        ) : (
          <Button look="primary" onClick={() => void verify()}>
            {words.here}
          </Button>
        )}
        <span role="status" className="small">
          {result}
        </span>
      </div>
      {failure && <FailureAlert title={words.notDone} failure={failure} />}
    </section>
  )
}

/** Maximum size in bytes of a file with a checkpoint. */
const MAX_BYTES = 65_536

const Result = ({ comparison }: { readonly comparison: Comparison }) => {
  if (comparison.kind === 'extended') return <p role="status">{words.saved.extended(comparison)}</p>
  return (
    <div role="alert" className="alert">
      <p>{comparison.kind === 'unlike' ? words.saved.unlike(comparison) : words.saved[comparison.kind]}</p>
    </div>
  )
}

/** Compares a checkpoint that was saved earlier with the newest one. */
export const SavedCheckpoint = () => {
  const [text, setText] = useState('')
  const [comparison, setComparison] = useState<Comparison | undefined>()
  const { busy, failure, attempt } = useAttempt()
  const compare = (given: string) => {
    setText(given)
    setComparison(undefined)
    void attempt(async () => setComparison(await compareSaved(given)))
  }
  const take = async (file: File | undefined) => {
    if (file) compare(await file.slice(0, MAX_BYTES).text())
  }
  return (
    <section className="stack">
      <h3>{words.saved.heading}</h3>
      <p className="muted">{words.saved.about}</p>
      <TextArea label={words.saved.field} rows={4} mono value={text} onChange={setText} />
      <div className="bar">
        <Button
          why={text.trim() === '' ? words.saved.none : undefined}
          busy={busy ? words.saved.comparing : undefined}
          onClick={() => compare(text)}
        >
          {words.saved.compare}
        </Button>
        <input
          type="file"
          className="input"
          aria-label={words.saved.file}
          onChange={({ target }) => void take(target.files?.[0])}
        />
      </div>
      {comparison && <Result comparison={comparison} />}
      {failure && <FailureAlert title={words.saved.failed} failure={failure} />}
    </section>
  )
}
