import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

/** Parameters of a list; `at` is its moment. */
type Asked = { readonly at?: string | undefined }

/**
 * Reads a page of a list. The previous page of the same list stays while the next loads; after a failure it stays if
 * its moment is the same.
 */
export const useListRead = <P extends object, A extends Asked>(
  things: readonly string[],
  asked: A,
  read: (asked: A, signal: AbortSignal) => Promise<P>,
  enabled = true,
) => {
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: [...things, asked],
    queryFn: ({ signal }) => read(asked, signal),
    placeholderData: (before, query) => (things.every((name, n) => query?.queryKey[n] === name) ? before : undefined),
    enabled,
  })
  const of = JSON.stringify([things, asked.at])
  const [shown, setShown] = useState<{ readonly of: string; readonly page: P } | undefined>()
  if (data && !isPlaceholderData && shown?.page !== data) setShown({ of, page: data })
  const kept = !data && error && shown?.of === of ? shown.page : undefined
  return { page: data ?? kept, error, isFetching, isPlaceholderData: isPlaceholderData || kept !== undefined, refetch }
}
