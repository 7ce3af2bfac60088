import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

/** What is asked of a list; `at` is the moment that it is to be of. */
type Asked = { readonly at?: string | undefined }

/** A page of a list. While another is asked for, and where it cannot be read, the one that was shown stays: of the same things, and after a failure of the same moment. */
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
