import { refuse } from '../src/errors.ts'
import type { EventLog, NewEvent, Stored } from '../src/events/log.ts'

type Options = {
  /** Awaited before each step of the log, with what is about to happen. */
  readonly pause?: (what: string) => Promise<unknown>
  readonly pageSize?: number
}

/** The log's law in memory, for tests of what stands on it. `all` is everything that was ever appended. */
export const memoryLog = ({
  pause = async () => {},
  pageSize = 3,
}: Options = {}): EventLog & { readonly all: readonly Stored[] } => {
  const all: Stored[] = []
  const streams = new Map<string, Stored[]>()
  const waiting = new Set<() => void>()

  async function* paged(events: readonly Stored[]) {
    for (let n = 0; n < events.length; n += pageSize) yield events.slice(n, n + pageSize)
  }
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
    for (const wake of waiting) wake()
    return written
  }

  return {
    all,
    append: async (stream, events, expected) => {
      await pause(`append ${stream} ${events.map(({ type }) => type).join()}`)
      const own = streams.get(stream) ?? []
      const first = expected === 'none' ? 0 : Number(expected) + 1
      let written = own.slice(first, first + events.length)
      if (own.length === first) written = write(stream, events)
      else if (own.length < first || own[first]!.id !== events[0]!.id || written.length < events.length)
        refuse('write_conflict')
      return { revision: BigInt(first + events.length - 1), positions: written.map(({ position }) => position) }
    },
    read: async function* (stream, from = 0n) {
      await pause(`read ${stream}`)
      yield* paged((streams.get(stream) ?? []).slice(Number(from)))
    },
    readAll: async function* (after, to = all.at(-1)?.position ?? 0n) {
      yield* paged(all.filter(({ position }) => position > after && position <= to))
    },
    follow: async function* (after, signal) {
      let seen = after
      while (!signal.aborted) {
        const page = all.filter(({ position }) => position > seen)
        if (page.length > 0) {
          seen = page.at(-1)!.position
          yield page
          continue
        }
        await new Promise<void>((wake) => {
          const once = () => {
            waiting.delete(once)
            signal.removeEventListener('abort', once)
            wake()
          }
          waiting.add(once)
          signal.addEventListener('abort', once)
        })
      }
    },
    head: async () => all.at(-1)?.position ?? 0n,
    close: async () => {},
  }
}

/** The log over a leader whose stream reads do not show yet what followers deliver already: events that are hidden. */
export const lagging = (log: EventLog) => {
  let hidden: (event: Stored) => boolean = () => false
  let reads = 0
  const read: EventLog['read'] = async function* (stream, from) {
    reads++
    for await (const page of log.read(stream, from)) {
      const shown = page.filter((event) => !hidden(event))
      if (shown.length > 0) yield shown
      if (shown.length < page.length) return
    }
  }
  return {
    log: { ...log, read },
    hide: (which: (event: Stored) => boolean): void => void (hidden = which),
    reads: (): number => reads,
  }
}
