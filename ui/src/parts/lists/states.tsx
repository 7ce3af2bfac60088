import { type Query, useIsFetching, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { isFailure } from '../../api/failure.ts'
import { common, states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { FailureAlert } from '../feedback/alert.tsx'
import { Forbidden } from '../feedback/forbidden.tsx'

/** Whether so many milliseconds have gone by since it was first asked. */
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

/** After a while a word about what has not come, and a way out of waiting; then one back. */
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

/** The shape of what is to come, once it is not there at once. */
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
  if (error.status === 403) return <Forbidden failure={error} />
  return <FailureAlert title={states.notLoaded(things)} failure={error} onRetry={onRetry} />
}

/** A place where nothing is yet, or nothing that was asked for. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <h2>{title}</h2>
    {children}
  </div>
)
