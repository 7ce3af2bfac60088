import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { flagCreation, type Loaded, readFlag } from '../../api/flags.ts'
import type { Restored } from '../../parts/editing/editing.ts'
import { AgainForm } from '../../parts/editing/make-again.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Loading } from '../../parts/lists/states.tsx'
import { copying as words } from '../../words/copying.ts'
import { flag } from '../../words/flag.ts'
import { flags } from '../../words/flags.ts'
import { aligned, type Source } from './copied.ts'
import { type Draft, draftOf } from './draft.ts'
import { fittedFlag, readCopiedFlag } from './restore.ts'

const here = getRouteApi('/inside/ns/$ns/flags/$key')

/** Reads the source of a copy once for each page. */
const useSource = <T,>({ namespace, key }: Source, part: string, read: (signal: AbortSignal) => Promise<T>) => {
  const { ns, key: own } = here.useParams()
  const { data, error, refetch } = useQuery({
    queryKey: ['copied', part, namespace, key, ns, own],
    queryFn: ({ signal }) => read(signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error && !isFailure(error)) throw error
  return { data, failure: error ?? undefined, retry: () => void refetch() }
}

const NotCopied = ({
  source: { namespace, key },
  failure,
  onRetry,
}: {
  readonly source: Source
  readonly failure: Failure
  readonly onRetry: () => void
}) => (
  <FailureAlert
    title={words.failed}
    failure={failure}
    {...(failure.status === 404 && { words: words.noSource(namespace, key) })}
    onRetry={onRetry}
  />
)

/** Page that creates a flag, switched off, before the state of another flag is copied to it. */
export const CopiedFlag = ({ source }: { readonly source: Source }) => {
  const { ns, key } = here.useParams()
  const { namespace, key: from } = source
  const { data, failure, retry } = useSource(source, 'new', (signal) => readFlag(namespace, from, undefined, signal))
  if (failure) return <NotCopied source={source} failure={failure} onRetry={retry} />
  if (!data) return <Loading />
  const { name, description, type } = data.flag
  return (
    <AgainForm
      words={{ thing: flag.thing, notFound: flag.notFound, section: flags.heading }}
      heading={words.heading(from, ns)}
      about={words.why(namespace, from, ns, key)}
      namespace={ns}
      name={key}
      creation={(reason) => flagCreation(ns, { key, name, description, type, enabled: false }, reason)}
      first={words.first}
      begun={words.reason(namespace, from)}
    />
  )
}

/** Reads the source of a copy, and calls `children` with the draft that copies it to the flag. */
export const Copying = ({
  source,
  present,
  children,
}: {
  readonly source: Source
  readonly present: Loaded
  readonly children: (copied: Restored<Draft> | undefined) => ReactNode
}) => {
  const { namespace, key } = source
  const { data, failure, retry } = useSource(source, 'draft', (signal) => readCopiedFlag(present, source, signal))
  if (data) {
    const { draft, left } = fittedFlag(present, data)
    return children({
      draft: aligned(draft, draftOf(present)),
      left: [...left, ...[...data.gone].map((segment) => words.segment(segment, present.flag.namespaceKey))],
      region: words.region,
      notice: (changes) => (changes === 0 ? words.equal(namespace, key) : words.draft(namespace, key, changes)),
      reason: words.reason(namespace, key),
    })
  }
  if (!failure) return <Loading />
  return (
    <>
      <NotCopied source={source} failure={failure} onRetry={retry} />
      {children(undefined)}
    </>
  )
}
