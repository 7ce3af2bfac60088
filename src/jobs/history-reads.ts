import { createHash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { type HistoryReadCommands, historyReads } from '../commands/deployment.ts'
import type { Context } from '../commands/envelope.ts'
import type { Execute } from '../commands/execute.ts'
import type { Actor } from '../events/meta.ts'

/** Time in which a reader that lost its live stream continues it without a new record. */
const CONTINUED_MS = 600_000
/** Maximum number of holders whose live streams are remembered, and of streams of each. */
const [HOLDERS, STREAMS] = [1_000, 16]

/** SHA-256 digest of the JSON text of parts, of 43 characters. */
const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

/** A recorded live stream: its holder, caller and filter, and the index of its first event. */
type LiveStream = {
  readonly holder: string
  readonly actor: Actor
  readonly filter: Readonly<Record<string, string>>
  readonly fromIndex: number
}

type Seen = LRUCache<string, { readonly fromIndex: number; readonly at: number }>

/**
 * Live streams that run or have just ended, by holder. A client that continues such a stream causes no new record. A
 * holder evicts only its own streams.
 */
const liveStreams = (now: () => Date) => {
  const holders = new LRUCache<string, Seen>({ max: HOLDERS })
  const nameOfStream = ({ actor: { id, kind }, filter }: LiveStream): string => digestOf(id ?? kind, filter)
  return {
    /** True if a stream continues a recorded one of the same caller and filter, within its range. */
    continues: (stream: LiveStream): boolean => {
      const before = holders.get(stream.holder)?.get(nameOfStream(stream))
      const isRecent = before !== undefined && now().getTime() - before.at < CONTINUED_MS
      return isRecent && stream.fromIndex >= before.fromIndex
    },
    /** Records the beginning and the end of a recorded stream. */
    followed: (stream: LiveStream): void => {
      const at = now().getTime()
      const seen: Seen = holders.get(stream.holder) ?? new LRUCache({ max: STREAMS })
      holders.set(stream.holder, seen)
      const name = nameOfStream(stream)
      const before = seen.get(name)
      const earlier = before && at - before.at < CONTINUED_MS ? before.fromIndex : stream.fromIndex
      seen.set(name, { fromIndex: Math.min(stream.fromIndex, earlier), at })
    },
  }
}

const FLUSH_MS = 5_000
const MINUTE_MS = 60_000
/** Maximum number of exports of one caller in a minute that are recorded individually. */
const EXPORTS = 10
/** Maximum number of callers whose reads are counted at once. From half of it on, all counts are written early. */
const CALLERS = 2_000

type Export = HistoryReadCommands['RecordExport']
type Reads = HistoryReadCommands['RecordReads']

/** A read of the history: its route and format, the number of events shown, and whether personal data was opened. */
type HistoryReading = {
  readonly route: string
  readonly format: string
  readonly events: number
  readonly opened: boolean
}

const windowOf = (actor: Actor, time: Date) => ({
  actor,
  from: Math.floor(time.getTime() / MINUTE_MS) * MINUTE_MS,
  requests: 0,
  events: 0,
  opened: 0,
  routes: new Map<string, number>(),
  /** Exports recorded individually in this minute, by the digest of format and filter; each resolves when durable. */
  exports: new Map<string, Promise<unknown>>(),
})
type Window = ReturnType<typeof windowOf>

/** Counts of reads of the history by caller and minute. */
const readingWindows = (now: () => Date) => {
  const windows = new Map<string, Window>()
  /** Window of a caller; undefined for a further caller while there are `CALLERS` windows. */
  const windowFor = (actor: Actor): Window | undefined => {
    const key = actor.id ?? actor.kind
    const window = windows.get(key) ?? (windows.size < CALLERS ? windowOf(actor, now()) : undefined)
    if (window) windows.set(key, window)
    return window
  }
  return {
    windowFor,
    isCrowded: (): boolean => windows.size >= CALLERS / 2,
    /** Counts a read. Returns false, without a count, for a caller without a window. */
    count: (actor: Actor, { route, events, opened }: Omit<HistoryReading, 'format'>): boolean => {
      const window = windowFor(actor)
      if (!window) return false
      window.requests++
      window.events += events
      if (opened) window.opened++
      window.routes.set(route, (window.routes.get(route) ?? 0) + 1)
      return true
    },
    /** Removes and returns the counts of finished minutes; with `final`, all counts. */
    take: (final: boolean): readonly { readonly actor: Actor; readonly data: Reads }[] => {
      const time = now().getTime()
      const minute = Math.floor(time / MINUTE_MS) * MINUTE_MS
      const taken: { readonly actor: Actor; readonly data: Reads }[] = []
      for (const [key, { actor, from, requests, events, opened, routes }] of windows) {
        if (!final && time < from + MINUTE_MS) continue
        windows.delete(key)
        if (requests === 0) continue
        const to = Math.max(from + MINUTE_MS, minute)
        const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
        taken.push({ actor, data: { ...period, requests, events, opened, routes: Object.fromEntries(routes) } })
      }
      return taken
    },
  }
}

/**
 * Records reads of the history: exports individually, all others as counts per caller and minute. `onRead` receives
 * each read of the history, for the metrics.
 */
export const historyReadRecorder = (
  execute: Execute,
  clock: Clock,
  { onRead, onError }: { onRead: (route: string, format: string) => void; onError: (error: unknown) => void },
) => {
  const { now } = clock
  const { windowFor, isCrowded, count, take } = readingWindows(now)
  /** Counts that must be written now. A write with an unknown result is retried with the same id, until it succeeds. */
  let due: { readonly id: string; readonly actor: Actor; readonly data: Reads }[] = []
  let flushing: Promise<void> = Promise.resolve()
  /** Whether counts are being written early, and the number of reads without a count since the last write. */
  let [isEarly, uncounted] = [false, 0]
  const newId = (): string => `${now().toISOString().slice(0, 10)}+${randomUUID()}`

  const flush = async (final: boolean): Promise<void> => {
    if (due.length === 0) due = take(final).map((counts) => ({ id: newId(), ...counts }))
    try {
      while (due.length > 0) {
        const { id, actor, data } = due[0]!
        await execute(historyReads, id, 'RecordReads', data, { actor })
        due = due.slice(1)
      }
      uncounted = 0
    } catch (error) {
      onError(error)
    }
  }
  const inTurn = (final: boolean) => (flushing = flushing.then(() => flush(final)))
  const timer = clock.every(FLUSH_MS, () => void inTurn(false))
  /** Writes all counts now, because there are many callers. */
  const flushEarly = async (): Promise<void> => {
    isEarly = true
    await inTurn(true)
    isEarly = false
  }
  const counting = (actor: Actor, reading: Omit<HistoryReading, 'format'>): void => {
    if (!count(actor, reading) && uncounted++ === 0)
      onError(new Error(`${CALLERS} callers wait for the event log; reads of further callers are not counted`))
    if (isCrowded() && !isEarly) void flushEarly()
  }

  return {
    /** Counts a reading. Synchronous and bounded. */
    counted: (actor: Actor, reading: HistoryReading): void => {
      onRead(reading.route, reading.format)
      counting(actor, reading)
    },
    ...liveStreams(now),
    /**
     * Records an export durably before its answer begins. An equal export of the caller in the same minute, and the
     * eleventh, are counted instead. Refuses with `backend_unavailable` if it cannot be written.
     */
    exported: async (context: Context, route: string, data: Export): Promise<void> => {
      onRead(route, data.format)
      const exports = windowFor(context.actor)?.exports
      const name = digestOf(data.format, data.filter, data.personal)
      const equal = exports?.get(name)
      if (equal || (exports && exports.size >= EXPORTS)) {
        await equal
        return counting(context.actor, { route, events: 0, opened: data.personal })
      }
      const record = execute(historyReads, newId(), 'RecordExport', data, context)
      exports?.set(name, record)
      try {
        await record
      } catch (error) {
        exports?.delete(name)
        throw error
      }
    },
    close: async (): Promise<void> => {
      timer.cancel()
      await inTurn(true)
      if (due.length === 0) await inTurn(true)
    },
  }
}
export type HistoryReadRecorder = ReturnType<typeof historyReadRecorder>
