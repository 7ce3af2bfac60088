import { type Failure, isFailure } from '../failure.ts'
import { openStream, query } from '../request.ts'
import { type EventFilters, nameOf } from './feed.ts'

/** Time (ms) without a byte after which a stream counts as lost; the service sends one every 15 s. */
const SILENT_MS = 45_000

/** Block of a stream: the index up to which the service has examined the log, and whether it has an event there. */
type Block = { readonly index: number; readonly isEvent: boolean }

const blockOf = (text: string): Block | undefined => {
  const index = /^id: (\d+)$/m.exec(text)?.[1]
  return index === undefined ? undefined : { index: Number(index), isEvent: /^data: /m.test(text) }
}

/** Splits the text of a stream into its blocks, and keeps an unfinished one. */
const splitter = () => {
  const decoder = new TextDecoder()
  let rest = ''
  return (bytes: Uint8Array): readonly string[] => {
    const texts = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = texts.pop() ?? ''
    return texts
  }
}

/**
 * Reads a live stream of events (api.md §16.9) after an index until it ends, breaks, or is silent for 45 s. `onOpen` is
 * called before the first block, `onBlocks` with the blocks of each chunk. Throws a `Failure` if it is refused.
 */
const readEventStream = async (
  path: string,
  after: number,
  signal: AbortSignal,
  { onOpen, onBlocks }: { readonly onOpen: () => void; readonly onBlocks: (blocks: readonly Block[]) => void },
): Promise<void> => {
  const silent = new AbortController()
  let timer: number | undefined
  const listen = () => {
    window.clearTimeout(timer)
    timer = window.setTimeout(() => silent.abort(), SILENT_MS)
  }
  listen()
  try {
    const stream = await openStream(path, after, AbortSignal.any([signal, silent.signal]))
    onOpen()
    const split = splitter()
    const reader = stream.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      listen()
      const blocks = split(value).flatMap((text) => blockOf(text) ?? [])
      if (blocks.length > 0) onBlocks(blocks)
    }
  } finally {
    window.clearTimeout(timer)
  }
}

/** Message of the page with the connection to all live pages. */
export type Report =
  /** The connection to this feed is open; the log is examined up to this index. */
  | { readonly kind: 'open'; readonly feed: string; readonly index: number }
  /** Indexes of the events of a feed after one index, up to another. */
  | {
      readonly kind: 'events'
      readonly feed: string
      readonly after: number
      readonly index: number
      readonly found: readonly number[]
    }
  /** There is no connection. */
  | { readonly kind: 'lost' }
  /** The service refuses the connection (401, 403). */
  | { readonly kind: 'refused' }
  /** The log does not have the index after which the connection began. */
  | { readonly kind: 'other-log' }

/** Waits (ms) before a lost stream is opened again: the first and the longest. */
const [FIRST_MS, LONGEST_MS] = [2_000, 30_000]
/** Events are reported together after this time (ms), or as soon as there is this number. */
const [TOGETHER_MS, TOGETHER] = [250, 1_000]

const pathOf = (feed: EventFilters): string => `audit/v1/events${query({ ...feed, format: 'sse' })}`

/** Collects the events of a feed and reports them together. */
const gathering = (feed: string, from: number, report: (message: Report) => void) => {
  let [after, index] = [from, from]
  let found: number[] = []
  let timer: number | undefined
  const flush = () => {
    window.clearTimeout(timer)
    timer = undefined
    if (index > after) report({ kind: 'events', feed, after, index, found })
    after = index
    found = []
  }
  return {
    flush,
    add: (next: number, isEvent: boolean): void => {
      index = next
      if (isEvent) found.push(next)
      if (found.length >= TOGETHER) flush()
      else timer ??= window.setTimeout(flush, TOGETHER_MS)
    },
    index: () => index,
  }
}

/** Statuses of a user who may not follow the history. */
const REFUSED: ReadonlySet<number> = new Set([401, 403])

const otherLog = ({ reason }: Failure): Report | undefined =>
  reason === 'invalid_header' ? { kind: 'other-log' } : undefined

/** Waits, at most until the signal aborts. */
const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const over = () => {
      window.clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = window.setTimeout(over, ms)
    signal.addEventListener('abort', over)
  })

/**
 * Keeps one live stream open after an index, and opens it again after 2 s, doubling to 30 s, when it ends. `feedNow`
 * chooses its filters; `look` reads them again. Ends when the signal aborts, or the service refuses the user.
 */
export const leading = (
  from: number,
  feedNow: () => Promise<EventFilters>,
  report: (message: Report) => void,
  stop: AbortSignal,
): { readonly look: () => void; readonly ended: Promise<void> } => {
  let cursor = from
  let delay = FIRST_MS
  let change = new AbortController()
  let current: string | undefined
  let gathered: ReturnType<typeof gathering> | undefined

  const follow = async (feed: EventFilters, name: string): Promise<void> => {
    const own = gathering(name, cursor, report)
    try {
      await readEventStream(pathOf(feed), cursor, AbortSignal.any([stop, change.signal]), {
        onOpen: () => {
          gathered = own
          report({ kind: 'open', feed: name, index: cursor })
        },
        onBlocks: (blocks) => {
          delay = FIRST_MS
          for (const { index, isEvent } of blocks) own.add(index, isEvent)
        },
      })
    } finally {
      gathered = undefined
      own.flush()
      cursor = own.index()
    }
  }
  /** Follows a feed until its stream ends. Returns the report after which it must not be opened again. */
  const lastReportOf = async (feed: EventFilters, name: string): Promise<Report | undefined> => {
    try {
      await follow(feed, name)
    } catch (error) {
      if (isFailure(error)) return REFUSED.has(error.status) ? { kind: 'refused' } : otherLog(error)
      if (!(error instanceof DOMException || error instanceof TypeError)) throw error
    }
    return undefined
  }
  const run = async (): Promise<void> => {
    report({ kind: 'lost' })
    while (!stop.aborted) {
      change = new AbortController()
      const feed = await feedNow()
      current = nameOf(feed)
      const last = await lastReportOf(feed, current)
      if (last) return report(last)
      if (stop.aborted || change.signal.aborted) continue
      report({ kind: 'lost' })
      await wait(delay, AbortSignal.any([stop, change.signal]))
      delay = Math.min(delay * 2, LONGEST_MS)
    }
    report({ kind: 'lost' })
  }
  const look = async (): Promise<void> => {
    const feed = nameOf(await feedNow())
    if (feed !== current) return change.abort()
    if (!gathered) return
    gathered.flush()
    report({ kind: 'open', feed, index: gathered.index() })
  }
  return { look: () => void look(), ended: run() }
}
