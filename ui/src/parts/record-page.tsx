import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isFailure } from '../api/failure.ts'
import { keys } from '../api/keys.ts'
import { type Authentication, readToken } from '../api/tokens.ts'
import { NotThere } from './feedback/not-there.tsx'
import { LoadFailed, Loading } from './lists/states.tsx'
import { PageHead } from './page.tsx'

/**
 * Page of one token record. Renders `children` once the record is loaded and `fits`; before that, the state of the
 * request.
 */
export const RecordPage = ({
  id,
  at,
  words,
  fits = () => true,
  children,
}: {
  readonly id: string
  readonly at: string | undefined
  readonly words: Readonly<Record<'thing' | 'things' | 'notFound' | 'heading', string>>
  readonly fits?: (record: Authentication) => boolean
  readonly children: (record: Authentication) => ReactNode
}) => {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.tokens, 'one', id, at],
    queryFn: ({ signal }) => readToken(id, at, signal),
  })
  if ((isFailure(error) && error.status === 404) || (data && !fits(data)))
    return <NotThere thing={words.thing} heading={words.notFound} name={id} />
  if (data) return children(data)
  return (
    <>
      <PageHead heading={words.notFound} title={[words.heading]} />
      {error ? <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} /> : <Loading />}
    </>
  )
}
