import { useState } from 'react'
import type { Failure } from '../api/failure.ts'
import { isUnknown } from '../api/failure.ts'
import { common, states } from '../words/common.ts'
import { Button } from './button.tsx'
import { Safe } from './safe.tsx'

/** The id of a request that failed, to be given to an administrator. */
export const RequestId = ({ id }: { readonly id: string }) => {
  const [copied, setCopied] = useState(false)
  return (
    <span className="bar small">
      <span>{common.request(id)}</span>
      <Button
        look="plain"
        aria-label={common.copyRequest}
        onClick={() => void navigator.clipboard?.writeText(id).then(() => setCopied(true))}
      >
        {copied ? common.copied : 'Copy'}
      </Button>
    </span>
  )
}

/** What a failure says, and whether it is known what became of a write. */
export const messageOf = (failure: Failure, write = false): string => {
  if (failure.status === 429 && failure.retryAfter !== undefined) return states.limited(failure.retryAfter)
  if (failure.reason === 'auth_stale') return states.stale
  return write && isUnknown(failure) ? states.unknownOutcome : failure.message
}

/** A failure, where it arose. */
export const FailureAlert = ({
  title,
  failure,
  write = false,
  words,
  onRetry,
}: {
  readonly title: string
  readonly failure: Failure
  readonly write?: boolean
  /** In place of what the service says. */
  readonly words?: string
  readonly onRetry?: () => void
}) => (
  <div role="alert" className="alert">
    <strong>{title}</strong>
    <p>
      <Safe text={words ?? messageOf(failure, write)} />
    </p>
    {failure.requestId !== undefined && <RequestId id={failure.requestId} />}
    {onRetry && (
      <div>
        <Button onClick={onRetry}>{common.tryAgain}</Button>
      </div>
    )}
  </div>
)
