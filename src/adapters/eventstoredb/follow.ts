import type { AllStreamResolvedEvent, AllStreamSubscription } from '@eventstore/db-client'
import type { Stored } from '../../events/log.ts'
import { type Connection, type Driver, isFailure, pause } from './connection.ts'
import { decode, type Recorded } from './event.ts'
import { pageLength, type Reader } from './read.ts'

/** Events and characters taken off a subscription ahead of their reader; one that is further behind reads pages instead. */
const AHEAD = 5000
const AHEAD_CHARACTERS = 16 * 1_048_576
/**
 * How often a silent subscription is compared with the head of the log, how long an event may take to come through it, and how long a node
 * may take to confirm it. Together well below the freshness lease: a follower that hangs must not make an instance stale.
 */
const SILENT_MS = 500
const DELIVERY_MS = 500
const CONFIRM_MS = 1000
const BACKOFF_MS = 400

/** Events that a subscription has delivered and nobody has taken yet, and why it ended. */
type Live = {
  /** The next page, or nothing once the subscription is over and all of it was taken. */
  readonly take: () => Promise<readonly Stored[] | undefined>
  readonly failure: () => unknown
  readonly confirmed: () => boolean
  readonly stop: () => void
}

type Follow = {
  readonly driver: Driver
  readonly connection: Connection
  readonly reader: Reader
  readonly categories: ReadonlySet<string>
  readonly isOwn: (event: Recorded) => boolean
  readonly onError: (error: unknown) => void
  readonly onRestart: () => void
}

/** Follows the log over a connection of its own. Subscriptions never resume by themselves and slow ones are dropped as a matter of course: so each is only the fast lane behind paged reads, which close every gap. */
export const follower = ({ driver, connection, reader, categories, isOwn, onError, onRestart }: Follow) => {
  const prefixes = [...categories].map((category) => `${category}-`)

  const subscribe = (from: bigint, after: bigint, signal: AbortSignal): Live => {
    const used = connection.client()
    const buffer: Stored[] = []
    let [last, characters, heard] = [after, 0, performance.now()]
    const state = { over: false, confirmed: false, failure: undefined as unknown }
    let wake = () => {}

    const subscription: AllStreamSubscription = used.subscribeToAll({
      fromPosition: from === 0n ? 'start' : { commit: from, prepare: from },
      filter: driver.streamNameFilter({ prefixes, maxSearchWindow: 1000 }),
    })
    const stop = (reason?: unknown) => {
      if (state.over) return
      state.over = true
      state.failure = reason
      clearTimeout(confirmation)
      clearInterval(watch)
      signal.removeEventListener('abort', aborted)
      subscription.unsubscribe().catch(() => undefined)
      wake()
    }
    const aborted = () => stop()
    const silent = (what: string) => {
      if (state.over) return
      stop(new Error(what))
      connection.renew(used)
    }
    const confirmation = setTimeout(() => silent('a subscription was not confirmed'), CONFIRM_MS)
    const watch = setInterval(() => {
      if (performance.now() - heard < SILENT_MS) return
      // A node cut off from the others keeps a subscription open and says nothing: only the leader knows whether there is something to say.
      reader.head().then(
        (head) => setTimeout(() => head > last && silent('a subscription fell silent'), DELIVERY_MS).unref(),
        () => undefined,
      )
    }, SILENT_MS)
    signal.addEventListener('abort', aborted)

    subscription.on('confirmation', () => {
      state.confirmed = true
      clearTimeout(confirmation)
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
      heard = performance.now()
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

  /** Gives what comes first: the next page, or nothing once the signal aborts. */
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

  return async function* (after: bigint, signal: AbortSignal): AsyncGenerator<readonly Stored[]> {
    let position = after
    let [carried, failures, subscribed] = [false, 0, false]
    const failed = async (error: unknown) => {
      // One word for each outage. Being dropped as too slow is everyday life.
      if (!isFailure(error, 'timeout', 10) && failures++ === 0) onError(error)
      await pause(Math.min(BACKOFF_MS, 50 * 2 ** failures), signal)
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
        // A subscription may begin only at a position that an event carries: the head, or what was read last.
        if (head > position && !carried) continue
        if (subscribed) onRestart()
        subscribed = true
        live = subscribe(head < position ? head : position, position, signal)
        for (let page = await live.take(); page; page = await live.take()) {
          failures = 0
          position = page.at(-1)!.position
          yield page
        }
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
