import { type ReactNode, useEffect, useState } from 'react'
import { isFailure } from '../api/failure.ts'
import { common, states } from '../words/common.ts'
import { FailureAlert } from './alert.tsx'
import { Button } from './button.tsx'

/** Whether so many milliseconds have gone by since it was first asked. */
const useLater = (ms: number): boolean => {
  const [later, setLater] = useState(false)
  useEffect(() => {
    const timer = window.setTimeout(() => setLater(true), ms)
    return () => window.clearTimeout(timer)
  }, [ms])
  return later
}

/** The shape of what is to come, once it is not there at once; after a while a word, and a way out. */
export const Loading = ({ rows = 6, onCancel }: { readonly rows?: number; readonly onCancel?: () => void }) => {
  const [soon, long] = [useLater(150), useLater(5000)]
  if (!soon) return <div aria-busy="true" />
  return (
    <div aria-busy="true" className="stack">
      <div className="skeleton" aria-hidden="true">
        {Array.from({ length: rows }, (_, index) => (
          <span key={index} />
        ))}
      </div>
      <span className="visually-hidden">{common.loading}</span>
      {long && (
        <div className="bar">
          <span>{common.stillLoading}</span>
          {onCancel && <Button onClick={onCancel}>{common.cancel}</Button>}
        </div>
      )}
    </div>
  )
}

/** What could not be read, in its place. */
export const LoadFailed = ({
  things,
  error,
  onRetry,
}: {
  readonly things: string
  readonly error: unknown
  readonly onRetry: () => void
}) => {
  if (!isFailure(error)) throw error
  if (error.reason === 'view_behind')
    return (
      <div role="alert" className="alert warn">
        <p>{common.catchingUp}</p>
        <div>
          <Button onClick={onRetry}>{common.refresh}</Button>
        </div>
      </div>
    )
  if (error.status === 403) return <FailureAlert title={states.forbidden} failure={error} />
  return <FailureAlert title={states.notLoaded(things)} failure={error} onRetry={onRetry} />
}

/** A place where nothing is yet, or nothing that was asked for. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <h2>{title}</h2>
    {children}
  </div>
)
