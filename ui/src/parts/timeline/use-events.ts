import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { isFailure } from '../../api/failure.ts'
import { EVENTS_PAGE, type HistoryEvents, readEvents } from '../../api/history.ts'
import { keys } from '../../api/keys.ts'

const keyOf = (filter: EventFilter, page: string | undefined) => [...keys.history, 'events', filter, page ?? '']

/** Options of a live list: it is read again only on request, or when its page is opened again. */
const UNCHANGED = {
  staleTime: ({ state }: { readonly state: { readonly data: unknown } }) => (state.data === undefined ? 0 : 'static'),
  gcTime: 0,
} as const

/**
 * Newest event of the log when the first page of a list was read, and a function that reads that page again. The list
 * itself reads the page unless it shows another one.
 */
export const useFirstPage = (filter: EventFilter, page: string | undefined, live: boolean) => {
  const { data, refetch } = useQuery({
    queryKey: keyOf(filter, undefined),
    queryFn: ({ signal }) => readEvents(filter, undefined, signal),
    enabled: page !== undefined,
    ...(live && UNCHANGED),
  })
  return { head: data?.head, read: () => void refetch() }
}

/** Whether the service ended a page before it was full, because it had examined enough events. */
const isEarly = ({ events, nextPageToken, through }: HistoryEvents): boolean =>
  nextPageToken !== '' && events.length < EVENTS_PAGE && events.at(-1)?.index !== through?.index

/** Index after the first event that a page examines; undefined as long as it is not known. */
const useStart = (filter: EventFilter, page: string | undefined, first: HistoryEvents | undefined, wanted: boolean) => {
  const client = useQueryClient()
  const previous = useLocation().state.before?.at(-1)
  const { from, to, after, before, afterIndex, beforeIndex, namespaceKey } = filter
  const isOpenEnded = to === undefined && before === undefined && beforeIndex === undefined
  const known =
    page === undefined
      ? isOpenEnded && first?.head && first.head.index + 1
      : previous !== undefined && client.getQueryData<HistoryEvents>(keyOf(filter, previous))?.through?.index
  const range = { from, to, after, before, afterIndex, beforeIndex, namespaceKey }
  const { data } = useQuery({
    queryKey: [...keys.history, 'start', range],
    queryFn: ({ signal }) => readEvents(range, undefined, signal, 1),
    enabled: wanted && typeof known !== 'number',
  })
  return typeof known === 'number' ? known : data?.events[0] && data.events[0].index + 1
}

type Further = { readonly of: HistoryEvents; readonly pages: readonly HistoryEvents[]; readonly error: unknown }

/** Reads more pages behind a page that ended early; a newer answer for the first page drops them. */
const useFurther = (filter: EventFilter, first: HistoryEvents | undefined) => {
  const [further, setFurther] = useState<Further | undefined>()
  const [going, setGoing] = useState(false)
  const own = further?.of === first ? further : undefined
  const pages = own?.pages ?? []
  const last = pages.at(-1) ?? first
  const goOn = async () => {
    if (!first || !last || going) return
    setGoing(true)
    try {
      const next = await readEvents(filter, last.nextPageToken)
      setFurther({ of: first, pages: [...pages, next], error: null })
    } catch (error) {
      if (!isFailure(error)) throw error
      setFurther({ of: first, pages, error })
    } finally {
      setGoing(false)
    }
  }
  return { pages, last, going, goOn, error: own?.error ?? null }
}

/**
 * Reads one page of the events of a filter, newest first. The events of the last answer stay while the next ones load,
 * and after a failure.
 */
export const useEvents = (filter: EventFilter, page: string | undefined, live: boolean) => {
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    queryKey: keyOf(filter, page),
    queryFn: ({ signal }) => readEvents(filter, page, signal),
    placeholderData: (before) => before,
    ...(live && UNCHANGED),
  })
  const [shown, setShown] = useState<HistoryEvents | undefined>()
  if (data && !isPlaceholderData && shown !== data) setShown(data)
  const first = data ?? shown
  const isOld = isPlaceholderData || (!data && shown !== undefined)
  const { pages, last, going, goOn, error: stopped } = useFurther(filter, first)
  const isEnded = last !== undefined && !isOld && isEarly(last)
  const start = useStart(filter, page, first, isEnded)
  const looked = start === undefined || !last?.through ? undefined : start - last.through.index
  return {
    events: first && [first, ...pages].flatMap(({ events }) => events),
    next: last?.nextPageToken ?? '',
    head: first?.head,
    isEnded,
    looked,
    going,
    goOn: () => void goOn(),
    error: error ?? stopped,
    isFetching,
    isOld,
    refetch: () => void refetch(),
  }
}
