import { type ReactNode, useEffect, useState } from 'react'
import type { Failure } from '../../api/failure.ts'
import { isUnknown } from '../../api/failure.ts'
import { common, states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { useCopy } from '../copy.tsx'
import { Safe } from './safe.tsx'

/** Id of a failed request, with a button to copy it for an administrator. */
export const RequestId = ({ id }: { readonly id: string }) => {
  const { copy, told } = useCopy()
  return (
    <span className="bar small">
      <span>{common.request(id)}</span>
      <Button look="plain" aria-label={common.copyRequest} onClick={() => copy(id, common.requestId)}>
        {common.copy}
      </Button>
      {told}
    </span>
  )
}

/** Message of a failure; for a write also whether its outcome is unknown. */
export const messageOf = (failure: Failure, write = false): string => {
  if (failure.status === 429 && failure.retryAfter !== undefined) return states.limited(failure.retryAfter)
  if (failure.reason === 'auth_stale') return states.stale
  if (failure.missing) return states.needs(failure.missing)
  return write && isUnknown(failure) ? states.unknownOutcome : failure.message
}

/** Retry button, disabled until `Retry-After` has passed. */
const TryAgain = ({ failure, onRetry }: { readonly failure: Failure; readonly onRetry: () => void }) => {
  const [counted, setCounted] = useState<{ readonly of: Failure; readonly left: number } | undefined>()
  const left = counted?.of === failure ? counted.left : Math.ceil(failure.retryAfter ?? 0)
  useEffect(() => {
    if (left <= 0) return undefined
    const timer = window.setTimeout(() => setCounted({ of: failure, left: left - 1 }), 1000)
    return () => window.clearTimeout(timer)
  }, [failure, left])
  return (
    <div>
      <Button busy={left > 0 ? common.tryAgainIn(left) : undefined} onClick={onRetry}>
        {common.tryAgain}
      </Button>
    </div>
  )
}

/** Alert of a failure, shown where it occurred. */
export const FailureAlert = ({
  title,
  failure,
  write = false,
  words,
  onRetry,
  children,
}: {
  readonly title: string
  readonly failure: Failure
  readonly write?: boolean
  /** Replaces the message of the service. */
  readonly words?: string
  readonly onRetry?: () => void
  /** Actions. */
  readonly children?: ReactNode
}) => (
  <div role="alert" className="alert">
    <strong>{title}</strong>
    <p>
      <Safe text={words ?? messageOf(failure, write)} />
    </p>
    {failure.requestId !== undefined && <RequestId id={failure.requestId} />}
    {onRetry && <TryAgain failure={failure} onRetry={onRetry} />}
    {children}
  </div>
)
