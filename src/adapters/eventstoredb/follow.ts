import type { Clock } from '../../base/clock.ts'
import type { Stored } from '../../events/log.ts'
import type { Driver } from './client.ts'
import { type Connection, pause } from './connection.ts'
import type { Recorded } from './event.ts'
import { isFailure } from './failures.ts'
import type { Reader } from './read.ts'
import { type Live, liveFrom } from './subscription.ts'

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
