import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isFailure } from '../../api/failure.ts'
import { useKnownMoment } from '../../api/moments.ts'
import { restore } from '../../words/restore.ts'
import { FailureAlert } from '../feedback/alert.tsx'
import { Loading } from '../lists/states.tsx'
import type { Merged, Restored } from './editing.ts'
import { useMomentWords } from './restored-notice.tsx'

/**
 * Reads a past state once, with the position and instant of its moment. No write invalidates it, because the past does
 * not change.
 */
export const usePastState = <P,>(
  queryKey: readonly string[],
  moment: string,
  read: (moment: string, signal: AbortSignal) => Promise<P>,
) => {
  const known = useKnownMoment(moment)
  const { data, error, refetch } = useQuery({
    queryKey: ['past', ...queryKey, moment],
    queryFn: ({ signal }) => read(moment, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error && !isFailure(error)) throw error
  return { data, failure: error ?? undefined, refetch, position: known?.position ?? moment, instant: known?.instant }
}

/**
 * Reads the past state of a resource to restore, and calls `children` with the draft that brings it back. If it cannot
 * be read, an alert stands above the resource without a draft.
 */
export const Restoring = <P, D>({
  moment,
  words,
  name,
  queryKey,
  read,
  fitted,
  children,
}: {
  readonly moment: string
  readonly words: { readonly thing: string }
  /** Key of the resource. */
  readonly name: string
  readonly queryKey: readonly string[]
  readonly read: (moment: string, signal: AbortSignal) => Promise<P>
  /** Fits the past state to the present one. */
  readonly fitted: (then: P) => Merged<D>
  readonly children: (restored: Restored<D> | undefined) => ReactNode
}) => {
  const { data, failure, refetch, position, instant } = usePastState(queryKey, moment, read)
  const shown = useMomentWords()({ position, instant })
  if (data)
    return children({
      ...fitted(data),
      region: restore.region,
      notice: (changes) => (changes === 0 ? restore.equal(words.thing, shown) : restore.draft(shown, changes)),
      reason: restore.reason(position),
    })
  if (!failure) return <Loading />
  const absent = failure.status === 404 ? { words: restore.notThen(words.thing, name, restore.at(moment)) } : {}
  return (
    <>
      <FailureAlert title={restore.failed} failure={failure} {...absent} onRetry={() => void refetch()} />
      {children(undefined)}
    </>
  )
}
