import { useQueryClient } from '@tanstack/react-query'
import { keys } from '../api/keys.ts'
import type { LedgerStatus } from '../api/ledger.ts'
import { Button } from '../parts/button.tsx'
import { FailureAlert } from '../parts/feedback/alert.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { Time } from '../parts/time.tsx'
import { integrity as words } from '../words/integrity.ts'
import { type Break, signingKeyOf, trustSigningKey, useRemembered } from './remembered.ts'
import { beginRun, type Run, stopRun, useRun } from './run.ts'
import type { Standing } from './standing.ts'

const Progress = ({ run }: { readonly run: Run & { readonly kind: 'running' } }) => {
  const { done, size } = run
  const shown = size === undefined ? words.begins : words.progressOf(done, size)
  return (
    <div className="tight">
      <progress aria-label={words.progress} {...(size !== undefined && { max: size, value: done })} />
      <span className="small">{shown}</span>
    </div>
  )
}

const causeOf = ({ cause, index = 0 }: Break): string => {
  const sentence = words.cause[cause]
  return typeof sentence === 'string' ? sentence : sentence(index)
}

/** Sentence about the end of a check; a break has its own alert. */
const resultOf = (run: Run): string => {
  if (run.kind === 'stopped') return words.stopped
  if (run.kind !== 'ended') return ''
  const { verdict } = run
  if (verdict.kind === 'verified') return words.verified(verdict.size)
  if (verdict.kind === 'unchecked') return words.unchecked(verdict.size)
  return verdict.kind === 'unsealed' ? words.unsealed : ''
}

/** Alert of a break that this browser found. */
const BreakAlert = ({ broken }: { readonly broken: Break }) => (
  <div role="alert" className="alert">
    <strong>{words.banner(broken.index)}</strong>
    <p>{causeOf(broken)}</p>
    <span className="small muted">
      <Time instant={broken.at} exact />
    </span>
  </div>
)

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
            {words.otherKeyIs}{' '}
            <code className="wrapping">
              <Safe text={vkey} />
            </code>
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
  const run = useRun()
  const client = useQueryClient()
  const verify = async () => {
    await beginRun()
    await client.invalidateQueries({ queryKey: keys.ledger, exact: true })
  }
  const broken = useRemembered()?.broken
  return (
    <section className="stack">
      {broken && <BreakAlert broken={broken} />}
      {standing.kind === 'other' && <OtherKey status={status} />}
      <p className="muted">{words.hereAbout}</p>
      {run.kind === 'running' && <Progress run={run} />}
      <div className="bar">
        {run.kind === 'running' ? (
          <Button onClick={stopRun}>{words.stop}</Button>
        ) : (
          <Button look="primary" onClick={() => void verify()}>
            {words.here}
          </Button>
        )}
        <span role="status" className="small">
          {resultOf(run)}
        </span>
      </div>
      {run.kind === 'failed' && <FailureAlert title={words.notDone} failure={run.failure} />}
    </section>
  )
}
