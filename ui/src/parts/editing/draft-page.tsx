import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode } from 'react'
import { isFailure } from '../../api/failure.ts'
import { ForbiddenPage } from '../feedback/forbidden.tsx'
import { NotThere } from '../feedback/not-there.tsx'
import { LoadFailed, Loading } from '../lists/states.tsx'

/** Page of a resource that is edited as one draft: the state of its request until it is loaded, then `children`. */
export const DraftPage = <L,>({
  words,
  name,
  namespace,
  queryKey,
  read,
  absent,
  gone,
  children,
}: {
  readonly words: Readonly<Record<'thing' | 'notFound', string>>
  readonly name: string
  readonly namespace: string
  readonly queryKey: readonly string[]
  readonly read: (signal: AbortSignal) => Promise<L>
  /** Shown for a resource that does not exist, in place of the standard page. */
  readonly absent?: ReactNode
  /** Shown if the resource does not exist. */
  readonly gone: ReactNode
  readonly children: (loaded: L) => ReactNode
}) => {
  const { data, error, refetch } = useQuery({ queryKey, queryFn: ({ signal }) => read(signal) })
  if (!data && isFailure(error) && error.status === 404)
    return (
      absent ?? (
        <NotThere thing={words.thing} heading={words.notFound} name={name} namespace={namespace}>
          {gone}
        </NotThere>
      )
    )
  if (!data && isFailure(error) && error.status === 403) return <ForbiddenPage failure={error} />
  return (
    <>
      {error && <LoadFailed things={words.thing} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {/* Another address starts another draft. */}
      {data && <Fragment key={queryKey.join('/')}>{children(data)}</Fragment>}
    </>
  )
}
