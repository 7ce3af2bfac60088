import { useNavigate } from '@tanstack/react-router'
import { EVERY, holds, useAccess } from '../../../api/access.ts'
import type { EventFilter } from '../../../api/event-filters.ts'
import { exportFilter } from '../../../api/export.ts'
import { dividedFilter, hasEnd } from '../../../api/live/feed.ts'
import { useFirstPage } from '../../../parts/timeline/use-events.ts'
import { past } from '../../../words/past.ts'
import { useLive } from './use-live.ts'

type Search = Readonly<Record<string, string | undefined>>

/**
 * Live part of the page of a filter (ui.md §11.8.5). A page is live unless its range has an end, it shows the past, or
 * its address has `live=off`. Turned on, it drops the end of its range.
 */
export const useLivePage = (filter: EventFilter, { at, live, page }: Search) => {
  const navigate = useNavigate()
  const { access } = useAccess()
  const isAuditor = access !== undefined && holds(access, { right: 'audit.read', namespaceKey: EVERY })
  const { filters, range } = dividedFilter(filter)
  const isOn = at === undefined && live !== 'off' && !hasEnd(range)
  const { head, read } = useFirstPage(filter, page, isOn)
  const now = useLive({ filters, range, head, isOn, isAuditor })
  const go = (change: Search) =>
    void navigate({
      to: '.',
      search: (before: Search) => ({ ...before, ...change }),
      resetScroll: false,
    })
  return {
    isAuditor,
    head,
    /** Filter up to the newest event of the page; undefined until it is read. */
    exported: head && exportFilter(filter, head),
    isOn,
    now,
    why: at === undefined ? undefined : past.why,
    turn: (on: boolean): void =>
      go(on ? { live: undefined, to: undefined, before: undefined, beforeIndex: undefined } : { live: 'off' }),
    /** Shows the newest events on the first page. */
    show: (): void => {
      read()
      if (page !== undefined) go({ page: undefined })
    },
  }
}

export type LivePage = ReturnType<typeof useLivePage>
