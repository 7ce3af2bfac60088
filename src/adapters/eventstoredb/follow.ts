import type { AllStreamResolvedEvent, AllStreamSubscription } from '@eventstore/db-client'
import type { Clock } from '../../base/clock.ts'
import type { Stored } from '../../events/log.ts'
import { type Connection, type Driver, isFailure, pause } from './connection.ts'
import { decode, type Recorded } from './event.ts'
import { pageLength, type Reader } from './read.ts'

/** Maximum events and characters buffered ahead of the reader. A reader that is further behind reads pages instead. */
const AHEAD = 5000
const AHEAD_CHARACTERS = 16 * 1_048_576
/**
 * Interval (ms) at which a silent subscription is compared with the end of the log, timeout of an event's delivery, and
 * timeout of the confirmation. The sum of these times is well below two seconds, so a stalled subscription does not
 * make the instance refuse requests.
 */
const SILENT_MS = 500
const DELIVERY_MS = 500
const CONFIRM_MS = 1000

/** Events that a subscription has delivered and the reader has not taken, and the cause of its end. */
type Live = {
  /** Returns the next page of events; undefined when the subscription has ended and all its events were returned. */
  readonly take: () => Promise<readonly Stored[] | undefined>
  readonly failure: () => unknown
  readonly confirmed: () => boolean
  readonly stop: () => void
}

type Source = {
  readonly subscription: AllStreamSubscription
  readonly clock: Clock
  readonly reader: Reader
  readonly isOwn: (event: Recorded) => boolean
  /** Called when the subscription is silent although the log has more events. */
  readonly onSilence: () => void
}

/**
 * Watches a subscription. Calls `onSilence` if it is not confirmed in time, or delivers nothing while the log has
 * events after `last`.
 */
const silenceWatch = (
  { monotonic, after, every }: Clock,
  reader: Reader,
  last: () => bigint,
  onSilence: (message: string) => void,
) => {
  let lastEvent = monotonic()
  const confirmation = after(CONFIRM_MS, () => onSilence('EventStoreDB did not confirm the subscription'))
  const watch = every(SILENT_MS, () => {
    if (monotonic() - lastEvent < SILENT_MS) return
    // A node that is cut off from the cluster keeps a subscription open without events; only the leader knows the head.
    reader.head().then(
      (head) => after(DELIVERY_MS, () => head > last() && onSilence('the subscription is silent')).unref(),
      () => undefined,
    )
  })
  return {
    confirmed: () => confirmation.cancel(),
    eventReceived: () => {
      lastEvent = monotonic()
    },
    end: () => {
      confirmation.cancel()
      watch.cancel()
    },
  }
}

/**
 * Buffers the events of a subscription after a position, until it ends, fails, is silent or is too far ahead of its
 * reader.
 */
export const liveFrom = (
  after: bigint,
  signal: AbortSignal,
  { subscription, clock, reader, isOwn, onSilence }: Source,
): Live => {
  const buffer: Stored[] = []
  let [last, characters] = [after, 0]
  const state = { over: false, confirmed: false, failure: undefined as unknown }
  let wake = () => {}

  const stop = (reason?: unknown) => {
    if (state.over) return
    state.over = true
    state.failure = reason
    watch.end()
    signal.removeEventListener('abort', aborted)
    subscription.unsubscribe().catch(() => undefined)
    wake()
  }
  const aborted = () => stop()
  const silent = (message: string) => {
    if (state.over) return
    stop(new Error(message))
    onSilence()
  }
  const watch = silenceWatch(clock, reader, () => last, silent)
  signal.addEventListener('abort', aborted)

  subscription.on('confirmation', () => {
    state.confirmed = true
    watch.confirmed()
  })
  subscription.on('error', stop)
  subscription.on('close', () => stop())
  const keep = (event: Recorded) => {
    const stored = decode(event)
    last = stored.position
    buffer.push(stored)
    characters += stored.data.length + stored.meta.length
    if (buffer.length >= AHEAD || characters >= AHEAD_CHARACTERS) stop()
    wake()
  }
  subscription.on('data', ({ event }: AllStreamResolvedEvent) => {
    watch.eventReceived()
    if (state.over || !event || event.position.commit <= last || !isOwn(event)) return
    try {
      keep(event)
    } catch (error) {
      stop(error)
    }
  })

  return {
    take: async () => {
      while (buffer.length === 0 && !state.over) await new Promise<void>((resolve) => (wake = resolve))
      const page = buffer.splice(0, pageLength(buffer))
      for (const { data, meta } of page) characters -= data.length + meta.length
      return page.length > 0 && !signal.aborted ? page : undefined
    },
    failure: () => state.failure,
    confirmed: () => state.confirmed,
    stop: () => stop(),
  }
}

const BACKOFF_MS = 400

type Follow = {
  readonly driver: Driver
  readonly clock: Clock
  readonly connection: Connection
  readonly reader: Reader
  /** Prefixes of the log's stream names. */
  readonly prefixes: string[]
  readonly isOwn: (event: Recorded) => boolean
  readonly onError: (error: unknown) => void
  readonly onRestart: () => void
  readonly onBreak: () => void
}

/** Resolves with the promise, or with undefined once the signal aborts. */
const orAborted = async <T>(signal: AbortSignal, next: Promise<T>): Promise<T | undefined> => {
  let leave = () => {}
  const aborted = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined)
    signal.addEventListener('abort', leave)
  })
  try {
    return await Promise.race([next, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * Follows the log over a connection of its own. Subscriptions do not resume by themselves, and the server drops slow
 * ones. Therefore the follower reads pages to close every gap, and uses a subscription for new events.
 */
export const follower = ({
  driver,
  clock,
  connection,
  reader,
  prefixes,
  isOwn,
  onError,
  onRestart,
  onBreak,
}: Follow) => {
  const subscribe = (from: bigint, after: bigint, signal: AbortSignal): Live => {
    const used = connection.client()
    const subscription = used.subscribeToAll({
      fromPosition: from === 0n ? 'start' : { commit: from, prepare: from },
      filter: driver.streamNameFilter({ prefixes, maxSearchWindow: 1000 }),
    })
    return liveFrom(after, signal, { subscription, clock, reader, isOwn, onSilence: () => connection.renew(used) })
  }

  return async function* (after: bigint, signal: AbortSignal): AsyncGenerator<readonly Stored[]> {
    let position = after
    let [carried, failures, subscribed] = [false, 0, false]
    const failed = async (error: unknown) => {
      // Each outage is reported once. A subscription that the server drops as too slow is normal.
      if (!isFailure(error, 'timeout', 10) && failures++ === 0) onError(error)
      await pause(clock, Math.min(BACKOFF_MS, 50 * 2 ** failures), signal)
    }

    while (!signal.aborted) {
      let live: Live | undefined
      const behind = reader.readAll(position)
      try {
        for (;;) {
          const next = await orAborted(signal, behind.next())
          if (!next || next.done) break
          position = next.value.at(-1)!.position
          carried = true
          yield next.value
        }
        const head = await orAborted(signal, reader.head())
        if (head === undefined || signal.aborted) return
        // A subscription can start only at the position of an event: the head, or the last event read.
        if (head > position && !carried) continue
        if (subscribed) onRestart()
        subscribed = true
        live = subscribe(head < position ? head : position, position, signal)
        for (let page = await live.take(); page; page = await live.take()) {
          failures = 0
          position = page.at(-1)!.position
          yield page
        }
        if (!signal.aborted) onBreak()
        if (live.confirmed()) failures = 0
        if (live.failure() !== undefined) await failed(live.failure())
      } catch (error) {
        if (!signal.aborted) await failed(error)
      } finally {
        live?.stop()
        behind.return(undefined).catch(() => undefined)
      }
    }
  }
}
