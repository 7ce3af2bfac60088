import { useQuery } from '@tanstack/react-query'
import { keys } from '../../api/keys.ts'
import { type Question, readDecision } from '../../api/review.ts'
import { identityOf } from '../../identity.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { RecordLink, useRecord } from '../../parts/record-link.tsx'
import { review as words } from '../../words/review.ts'

/** Answer to the question whether one token has a right, with the reason. */
export const Decision = ({
  id,
  question,
  moment,
}: {
  readonly id: string
  readonly question: Question
  readonly moment: string | undefined
}) => {
  const record = useRecord(id)
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.tokens, 'decision', id, question],
    queryFn: ({ signal }) => readDecision({ ...question, id }, signal),
  })
  const { right, namespaceKey } = question
  const name = record ? identityOf(record) : id.slice(0, 8)
  return (
    <section className="stack">
      <h2>
        <Safe text={words.can(name, right, namespaceKey, moment)} />
      </h2>
      {error && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={1} />}
      {data && (
        <p role="status" aria-label={words.answer}>
          <span className={data.allowed ? 'badge on' : 'badge off'}>{data.allowed ? words.yes : words.no}</span>{' '}
          <Safe text={words.reason(data.reason, namespaceKey, data.because)} />
        </p>
      )}
      <p>
        <RecordLink id={id} />
      </p>
    </section>
  )
}
