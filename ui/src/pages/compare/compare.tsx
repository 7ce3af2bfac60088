import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { useAttempt } from '../../api/attempt.ts'
import { readDifference } from '../../api/differences.ts'
import { type Failure, isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { Button } from '../../parts/button.tsx'
import { useCopy } from '../../parts/copy.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Pager } from '../../parts/lists/pager.tsx'
import { useListAddress } from '../../parts/lists/paging.ts'
import { Empty, LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { PageHead } from '../../parts/page.tsx'
import { states } from '../../words/common.ts'
import { compare as words } from '../../words/compare.ts'
import type { PatchOp } from './json-patch.ts'
import { Pickers } from './pickers.tsx'
import { Result, type View } from './result.tsx'
import { scopeOf, streamWords } from './scope.ts'
import { patchOfWhole, patchOfWholes, readWholes } from './wholes.ts'

/** Buttons that copy the address of a comparison, and its differences as a JSON Patch. */
const Copies = ({
  patch,
  partial,
}: {
  /** Makes the patch; undefined without a difference. */
  readonly patch: (() => Promise<readonly PatchOp[]>) | undefined
  /** Whether there are further pages of differences. */
  readonly partial: boolean
}) => {
  const { copy, told } = useCopy()
  const { busy, failure, attempt } = useAttempt()
  const copyPatch = (make: () => Promise<readonly PatchOp[]>) =>
    attempt(async () => copy(JSON.stringify(await make(), null, 2), words.patch))
  return (
    <span className="bar copies">
      <Button onClick={() => copy(window.location.href, words.link)}>{words.copyLink}</Button>
      {patch && (
        <Button busy={busy ? words.patching : undefined} onClick={() => void copyPatch(patch)}>
          {words.copyPatch}
        </Button>
      )}
      {told}
      {patch && partial && <span className="muted small">{words.patchOfPage}</span>}
      {failure && <FailureAlert title={words.patchFailed} failure={failure} />}
    </span>
  )
}

const here = getRouteApi('/inside/history/compare')

/** Refusals of the moments, by field. The request has them in the opposite order if the first one is the present. */
const wrongOf = (error: Failure | undefined, isPresentFirst: boolean) =>
  Object.fromEntries(
    (error?.fields ?? [])
      .filter(({ field }) => field === 'a' || field === 'b')
      .map(({ field, description }) => [isPresentFirst ? 'b' : field, description]),
  ) as Readonly<Partial<Record<'a' | 'b', string>>>

const NotCompared = ({
  error,
  stream,
  onFirst,
  onRetry,
}: {
  readonly error: Failure
  readonly stream: string | undefined
  readonly onFirst: () => void
  readonly onRetry: () => void
}) => {
  if (error.status === 404 && stream !== undefined)
    return (
      <Empty title={states.noMatch(words.things)}>
        <p>
          <Safe text={words.nothingThen(streamWords(stream))} />
        </p>
      </Empty>
    )
  if (error.reason === 'invalid_page_token')
    return (
      <FailureAlert title={states.notLoaded(words.things)} failure={error} words={words.otherPage}>
        <div>
          <Button onClick={onFirst}>{words.firstPage}</Button>
        </div>
      </FailureAlert>
    )
  return <LoadFailed things={words.things} error={error} onRetry={onRetry} />
}

/** Page that compares a flag, segment or namespace at two moments (ui.md §11.9). */
export const ComparePage = () => {
  const search = here.useSearch()
  const { at, page } = search
  const [a, b] = [search.a ?? at, search.b ?? at]
  const view: View = search.view === 'full' ? 'full' : 'minimal'
  const scope = scopeOf(search)
  const { stream, of } = scope
  const address = useListAddress(search)
  const navigate = useNavigate()
  const change = useCallback(
    (to: Readonly<Record<string, string | undefined>>) =>
      void navigate({
        to: '.',
        search: (before: Readonly<Record<string, string | undefined>>) => {
          const { page: _page, ...rest } = before
          return Object.fromEntries(Object.entries({ ...rest, ...to }).filter(([, value]) => value))
        },
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  )
  const differ = a !== b
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [...keys.differences, 'of', of, a ?? '', b ?? '', page ?? ''],
    queryFn: ({ signal }) => readDifference(of, { a, b, page }, signal),
    enabled: differ,
    placeholderData: keepPreviousData,
    // A comparison with the present is read again each time.
    ...((a === undefined || b === undefined) && { staleTime: 0 }),
  })
  if (error && !isFailure(error)) throw error
  const wrong = wrongOf(error ?? undefined, a === undefined)
  const shown = differ && !error && !isPlaceholderData ? data : undefined
  const patch = async () => {
    const wholes = await readWholes(shown ?? { items: [], a: data!.a, b: data!.b })
    const whole = stream === undefined ? undefined : wholes.get(stream)
    return whole ? patchOfWhole(whole) : patchOfWholes(wholes)
  }
  const partial = page !== undefined || (shown?.nextPageToken ?? '') !== ''
  return (
    <>
      <PageHead heading={words.heading} title={[words.heading]}>
        <Copies patch={shown && shown.items.length > 0 ? patch : undefined} partial={partial} />
      </PageHead>
      <div className="stack">
        <Pickers
          scope={scope}
          moments={{ a: search.a, b: search.b }}
          at={at}
          wrong={wrong}
          onScope={({ stream: next, ns }) => change({ stream: next, ns })}
          onMoments={change}
        />
        {!differ && (
          <Empty title={words.choose}>
            <p>{words.chooseWhy}</p>
          </Empty>
        )}
        {differ && error && Object.keys(wrong).length === 0 && (
          <NotCompared error={error} stream={stream} onFirst={() => change({})} onRetry={() => void refetch()} />
        )}
        {differ && !error && !shown && <Loading />}
        {shown && (
          <Result
            difference={shown}
            stream={stream}
            view={view}
            isPresentFirst={a === undefined}
            onView={(next) => change({ view: next === 'full' ? next : undefined })}
          />
        )}
        <Pager onPrevious={address.previous} onNext={shown && address.next(shown.nextPageToken)} />
      </div>
    </>
  )
}
