import { useEffect, useRef, useState } from 'react'
import type { Head } from '../../../api/live/counting.ts'
import { type EventFilters, type EventRange, filtersOf, nameOf } from '../../../api/live/feed.ts'
import { followEvents, type Live } from '../../../api/live/live.ts'

type LivePage = {
  readonly filters: EventFilters
  readonly range: EventRange
  /** Newest event of the log when the first page was read; undefined before. */
  readonly head: Head | undefined
  readonly isOn: boolean
  /** Whether the user may read the whole history. */
  readonly isAuditor: boolean
}

/** Number of the events that a page does not show yet, and the state of the connection; undefined if it is not live. */
export const useLive = ({ filters, range, head, isOn, isAuditor }: LivePage): Live | undefined => {
  const [shown, setShown] = useState<Live | undefined>()
  const newest = useRef<Head | undefined>(undefined)
  const follower = useRef<ReturnType<typeof followEvents> | undefined>(undefined)
  const { index, position } = head ?? {}
  const isFollowing = isOn && head !== undefined
  const [name, bounds] = [nameOf(filters), JSON.stringify(range)]
  useEffect(() => {
    if (index === undefined || position === undefined) return
    newest.current = { index, position }
    follower.current?.mark(newest.current)
  }, [index, position])
  useEffect(() => {
    if (!isFollowing || !newest.current) return undefined
    const page = { filters: filtersOf(name), range: JSON.parse(bounds) as EventRange, isAuditor, head: newest.current }
    const mine = followEvents(page, setShown)
    follower.current = mine
    return () => {
      mine.stop()
      follower.current = undefined
    }
  }, [isFollowing, isAuditor, name, bounds])
  return isFollowing ? shown : undefined
}
