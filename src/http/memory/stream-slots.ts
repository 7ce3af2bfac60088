import { setMaxListeners } from 'node:events'
import { refuse } from '../../base/errors.ts'
import { fairGate, type Lease, takeAll } from '../../base/gate.ts'
import { type Of, whenOver } from './room.ts'

/** Maximum number of streams of one holder at once. */
const EACH = 4

const AGAIN = { headers: { 'retry-after': '1' } }

/** Holder of a stream. Auditors have the right `audit.read`. */
type StreamHolder = { readonly holder: string; readonly isAuditor: boolean }

/**
 * Limits the streams of the history that run at once, on the instance and for each holder (api.md §16.5). Half of the
 * streams are reserved for auditors, who are counted apart from the other tokens of their holder.
 */
export const streamSlots = (total: number) => {
  const gate = fairGate({ total, each: EACH })
  const others = fairGate({ total: Math.max(1, Math.floor(total / 2)) })
  const ending = new AbortController()
  // Each live stream listens to it.
  setMaxListeners(0, ending.signal)
  return {
    /** Signal that aborts when the service shuts down. */
    ending: ending.signal,
    end: (): void => ending.abort(),
    /** Number of running streams. */
    running: (): number => gate.held(),
    /**
     * Counts a new stream until its lease is freed. A stream over the limit is refused with `rate_limited` or
     * `history_busy`.
     */
    enter: ({ holder: whose, isAuditor }: StreamHolder): Pick<Lease, 'free'> => {
      const holder = isAuditor ? `auditor ${whose}` : whose
      const lease = takeAll([() => gate.takeNow({ holder }), ...(isAuditor ? [] : [() => others.takeNow({ holder })])])
      return lease ?? refuse(gate.held(holder) < EACH ? 'history_busy' : 'rate_limited', undefined, AGAIN)
    },
  }
}
export type StreamSlots = ReturnType<typeof streamSlots>

/**
 * Counts a request as a running stream until it is over, and returns a signal that aborts then. `onOver` is
 * called at that time. A stream over the limit is refused as `enter` says.
 */
export const streamOf = (
  { historyStreams }: { readonly historyStreams: StreamSlots },
  of: Of,
  holder: StreamHolder,
  onOver?: () => void,
): AbortSignal => {
  const over = new AbortController()
  const { free } = historyStreams.enter(holder)
  whenOver(of, () => {
    over.abort()
    free()
    onOver?.()
  })
  return over.signal
}
