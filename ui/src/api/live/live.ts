import { canShare, sharedConnection } from './connection.ts'
import { countingNew, type Head, type NewEvents } from './counting.ts'
import { covers, type EventFilters, type EventRange, filtersOf } from './feed.ts'
import type { Report } from './leader.ts'

/**
 * State of a live page. `starting`: connecting, for at most 10 s; `on`: connected; `away`: not connected for 10 s;
 * `apart`: the connection of the browser does not cover the page; `insecure`: pages cannot share a connection;
 * `refused`: the user may not follow the history; `other-log`: the service has another log now.
 */
type LiveState = 'starting' | 'on' | 'away' | 'apart' | 'insecure' | 'refused' | 'other-log'
export type Live = NewEvents & { readonly state: LiveState }

/** Times in ms: until a lost connection is shown; between two reads without it; until a hidden page gives up its part. */
const [LOST_MS, READ_MS, HIDDEN_MS] = [10_000, 10_000, 60_000]
/** States in which a page reads the number of new events every 10 s. */
const READING: ReadonlySet<LiveState> = new Set(['away', 'apart', 'insecure'])
/** States that end with the next page that is read. */
const ENDED: ReadonlySet<LiveState> = new Set(['refused', 'other-log'])

type Page = {
  readonly filters: EventFilters
  readonly range: EventRange
  readonly isAuditor: boolean
  readonly head: Head
}

/** State of a page, from the reports of the connection. `onChange` is called with each new state. */
const stateOf = (filters: EventFilters, begin: LiveState, onChange: (state: LiveState) => void) => {
  let state = begin
  let timer: number | undefined
  const clear = () => {
    window.clearTimeout(timer)
    timer = undefined
  }
  const become = (next: LiveState): void => {
    if (next !== 'starting') clear()
    if (next === state) return
    state = next
    onChange(state)
  }
  const lose = (): void => {
    if (state === 'on') become('starting')
    if (state === 'starting') timer ??= window.setTimeout(() => become('away'), LOST_MS)
  }
  return {
    now: () => state,
    become,
    lose,
    clear,
    follow: (report: Report): void => {
      if (report.kind === 'lost') lose()
      else if (report.kind === 'refused' || report.kind === 'other-log') become(report.kind)
      else become(covers(filtersOf(report.feed), filters) ? 'on' : 'apart')
    },
  }
}

/** Calls `leave` when the page was hidden for 60 s, or is left, and `join` when it is shown. Returns the end of it. */
const whileShown = (join: () => void, leave: () => void): (() => void) => {
  let timer: number | undefined
  const onVisibility = () => {
    window.clearTimeout(timer)
    if (document.hidden) timer = window.setTimeout(leave, HIDDEN_MS)
    else join()
  }
  document.addEventListener('visibilitychange', onVisibility)
  window.addEventListener('pagehide', leave)
  window.addEventListener('pageshow', onVisibility)
  return () => {
    window.clearTimeout(timer)
    document.removeEventListener('visibilitychange', onVisibility)
    window.removeEventListener('pagehide', leave)
    window.removeEventListener('pageshow', onVisibility)
  }
}

/**
 * Counts the events that come after the head of a page, and reports each change (ui.md §3.6). All pages of a browser
 * share one connection.
 */
export const followEvents = ({ filters, range, isAuditor, head }: Page, onChange: (live: Live) => void) => {
  const first = canShare() ? 'starting' : 'insecure'
  let news: NewEvents = { count: 0, isExact: true }
  let reads: number | undefined
  let isOver = false

  const tell = () => {
    if (!isOver) onChange({ ...news, state: state.now() })
  }
  const state = stateOf(filters, first, (now) => {
    if (ENDED.has(now)) leave()
    if (READING.has(now)) counting.ask()
    tell()
  })
  const counting = countingNew(filters, range, head, (now) => {
    if (now === 'other-log') return state.become(now)
    news = now
    tell()
  })
  const connection = sharedConnection({ filters, isAuditor, through: counting.through }, (report) => {
    state.follow(report)
    if (report.kind === 'open') counting.examined(report.index)
    if (report.kind === 'events') counting.found(report)
  })
  const join = (): void => {
    if (reads !== undefined || ENDED.has(state.now())) return
    reads = window.setInterval(() => READING.has(state.now()) && counting.ask(), READ_MS)
    if (first === 'insecure') return counting.ask()
    state.lose()
    connection.join()
  }
  const leave = (): void => {
    connection.leave()
    counting.stop()
    state.clear()
    window.clearInterval(reads)
    reads = undefined
  }
  const end = whileShown(join, leave)
  join()
  tell()
  return {
    /** Counts from the head of a page that was read again. A page that was refused before follows again. */
    mark: (next: Head): void => {
      counting.mark(next)
      if (!ENDED.has(state.now())) return
      state.become(first)
      join()
    },
    stop: (): void => {
      isOver = true
      end()
      leave()
      connection.close()
    },
  }
}
