import type { AllStreamResolvedEvent, AllStreamSubscription } from '@eventstore/db-client'
import type { Clock } from '../../clock.ts'
import type { Stored } from '../../events/log.ts'
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

/** Events that a subscription has delivered and nobody has taken yet, and why it ended. */
export type Live = {
  /** The next page, or nothing once the subscription is over and all of it was taken. */
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
  /** Told of a subscription that fell silent. */
  readonly onSilence: () => void
}

/** Watches a subscription: says so when it is not confirmed in time, or says nothing while the log has more than `last`. */
const silenceWatch = (
  { monotonic, after, every }: Clock,
  reader: Reader,
  last: () => bigint,
  onSilence: (what: string) => void,
) => {
  let heard = monotonic()
  const confirmation = after(CONFIRM_MS, () => onSilence('a subscription was not confirmed'))
  const watch = every(SILENT_MS, () => {
    if (monotonic() - heard < SILENT_MS) return
    // A node cut off from the others keeps a subscription open and says nothing: only the leader knows whether there is something to say.
    reader.head().then(
      (head) => after(DELIVERY_MS, () => head > last() && onSilence('a subscription fell silent')).unref(),
      () => undefined,
    )
  })
  return {
    confirmed: () => confirmation.cancel(),
    heard: () => {
      heard = monotonic()
    },
    end: () => {
      confirmation.cancel()
      watch.cancel()
    },
  }
}

/** Takes what a subscription delivers after a position, until it ends, fails, falls silent or is too far ahead of its reader. */
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
  const silent = (what: string) => {
    if (state.over) return
    stop(new Error(what))
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
    watch.heard()
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
