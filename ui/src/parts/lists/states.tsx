import { type Query, useIsFetching, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { isFailure } from '../../api/failure.ts'
import { common, states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { Forbidden } from '../feedback/forbidden.tsx'

/** Whether `ms` have passed since the first render. */
const useLater = (ms: number): boolean => {
  const [later, setLater] = useState(false)
  useEffect(() => {
    const timer = window.setTimeout(() => setLater(true), ms)
    return () => window.clearTimeout(timer)
  }, [ms])
  return later
}

const missing = { type: 'active', predicate: ({ state }: Query) => state.data === undefined } as const
const useReading = (): boolean => useIsFetching(missing) > 0

/** After 5 s shows that loading continues and offers to cancel it; once cancelled, offers to retry. */
export const StillLoading = () => {
  const client = useQueryClient()
  const [long, reading] = [useLater(5000), useReading()]
  const onClick = () => void (reading ? client.cancelQueries(missing) : client.refetchQueries(missing))
  if (!long) return null
  return (
    <div className="bar">
      <span>{reading ? common.stillLoading : common.loadingCancelled}</span>
      <Button onClick={onClick}>{reading ? common.cancel : common.tryAgain}</Button>
    </div>
  )
}

/** Skeleton of a page, shown after 150 ms. */
export const Loading = ({ rows = 6 }: { readonly rows?: number }) => {
  const [soon, reading] = [useLater(150), useReading()]
  return (
    <div aria-busy={reading} className="stack">
      {soon && reading && (
        <>
          <div className="skeleton" aria-hidden="true">
            {Array.from({ length: rows }, (_, index) => (
              <span key={index} />
            ))}
          </div>
          <span className="visually-hidden">{common.loading}</span>
        </>
      )}
      <StillLoading />
    </div>
  )
}

/** Alert that replaces content that could not be loaded. */
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
  if (error.status === 403) return <Forbidden failure={error} />
  return <FailureAlert title={states.notLoaded(things)} failure={error} onRetry={onRetry} />
}

/** Empty state of a list: no items, or no matches. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <h2>{title}</h2>
    {children}
  </div>
)
