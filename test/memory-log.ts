import { refuse } from '../src/base/errors.ts'
import type { EventLog, NewEvent, Stored } from '../src/events/log.ts'

type Options = {
  /** Awaited before each step of the log, with the name of the step. */
  readonly pause?: (what: string) => Promise<unknown>
  readonly pageSize?: number
}

/** Notifies waiters when it rings or the signal aborts. */
const bell = () => {
  const waiting = new Set<() => void>()
  return {
    ring: (): void => {
      for (const wake of waiting) wake()
    },
    rung: (signal: AbortSignal): Promise<void> =>
      new Promise((wake) => {
        const once = () => {
          waiting.delete(once)
          signal.removeEventListener('abort', once)
          wake()
        }
        waiting.add(once)
        signal.addEventListener('abort', once)
      }),
  }
}

/** In-memory log that can be reopened; `all` contains every appended event. */
export const memoryStore = ({ pause = async () => {}, pageSize = 3 }: Options = {}) => {
  const all: Stored[] = []
  const streams = new Map<string, Stored[]>()
  const news = bell()
  const headNow = () => all.at(-1)?.position ?? 0n

  const write = (stream: string, events: readonly NewEvent[]): Stored[] => {
    const own = streams.get(stream) ?? []
    streams.set(stream, own)
    const written = events.map((event, n) => ({
      ...event,
      stream,
      revision: BigInt(own.length + n),
      position: BigInt(all.length + n + 1) * 10n,
    }))
    own.push(...written)
    all.push(...written)
    news.ring()
    return written
  }
  const append: EventLog['append'] = async (stream, events, expected) => {
    await pause(`append ${stream} ${events.map(({ type }) => type).join()}`)
    const own = streams.get(stream) ?? []
    const first = expected === 'none' ? 0 : Number(expected) + 1
    let written = own.slice(first, first + events.length)
    if (own.length === first) written = write(stream, events)
    else if (own.length < first || own[first]!.id !== events[0]!.id || written.length < events.length)
      refuse('write_conflict')
    return { revision: BigInt(first + events.length - 1), positions: written.map(({ position }) => position) }
  }
  const pagesOf = (events: readonly Stored[]) => paged(events, pageSize)

  const open = (): EventLog => {
    const closing = new AbortController()
    const whileOpen = () => (closing.signal.aborted ? refuse('backend_unavailable') : undefined)
    return {
      append: async (...asked) => {
        whileOpen()
        return append(...asked)
      },
      read: async function* (stream, from = 0n, most = Number.POSITIVE_INFINITY) {
        whileOpen()
        await pause(`read ${stream}`)
        yield* pagesOf((streams.get(stream) ?? []).slice(Number(from), Number(from) + most))
      },
      readAll: async function* (after, to = headNow()) {
        whileOpen()
        yield* pagesOf(all.filter(({ position }) => position > after && position <= to))
      },
      follow: async function* (after, signal) {
        whileOpen()
        const end = AbortSignal.any([signal, closing.signal])
        for (let seen = after; !end.aborted; ) {
          const arrived = all.filter(({ position }) => position > seen)
          for (const page of pagesOf(arrived)) {
            seen = page.at(-1)!.position
            yield page
            if (end.aborted) return
          }
          if (arrived.length === 0) await news.rung(end)
        }
      },
      at: async (position) => {
        whileOpen()
        return all.find((event) => event.position === position)
      },
      first: async () => {
        whileOpen()
        return all[0]
      },
      head: async () => {
        whileOpen()
        return headNow()
      },
      close: async () => {
        closing.abort()
      },
    }
  }
  return { all: all as readonly Stored[], open }
}

/** Characters that end a page. */
const PAGE_CHARACTERS = 4 * 1_048_576

function* paged(events: readonly Stored[], most: number): Iterable<readonly Stored[]> {
  let page: Stored[] = []
  let characters = 0
  for (const event of events) {
    page.push(event)
    characters += event.data.length + event.meta.length
    if (page.length < most && characters < PAGE_CHARACTERS) continue
    yield page
    page = []
    characters = 0
  }
  if (page.length > 0) yield page
}

/** In-memory log for tests of its users; `all` contains every appended event. */
export const memoryLog = (options?: Options): EventLog & { readonly all: readonly Stored[] } => {
  const { all, open } = memoryStore(options)
  return { ...open(), all }
}

/** Log of a leader that does not yet show events that followers deliver. Its head is that of the visible events. */
export const lagging = (log: EventLog) => {
  let hidden: (event: Stored) => boolean = () => false
  let reads = 0
  const read: EventLog['read'] = async function* (stream, from, most) {
    reads++
    for await (const page of log.read(stream, from, most)) {
      const shown = page.filter((event) => !hidden(event))
      if (shown.length > 0) yield shown
      if (shown.length < page.length) return
    }
  }
  const head: EventLog['head'] = async () => {
    let shown = 0n
    for await (const page of log.readAll(0n)) for (const event of page) if (!hidden(event)) shown = event.position
    return shown
  }
  return {
    log: { ...log, read, head },
    hide: (which: (event: Stored) => boolean): void => void (hidden = which),
    reads: (): number => reads,
  }
}
