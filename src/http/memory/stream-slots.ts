import { setMaxListeners } from 'node:events'
import { refuse } from '../../base/errors.ts'
import { fairGate, type Lease } from '../../base/gate.ts'
import { type Of, whenOver } from './room.ts'

/** Maximum number of streams of one credential at once. */
const EACH = 4

const AGAIN = { headers: { 'retry-after': '1' } }

/** Limits the streams of the history that run at once, on the instance and for each credential (api.md §16.5). */
export const streamSlots = (total: number) => {
  const gate = fairGate({ total, each: EACH })
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
    enter: (holder: string): Lease =>
      gate.takeNow({ holder }) ?? refuse(gate.held(holder) < EACH ? 'history_busy' : 'rate_limited', undefined, AGAIN),
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
  onOver?: () => void,
): AbortSignal => {
  const over = new AbortController()
  const { free } = historyStreams.enter(of.request.caller.actor.id ?? of.request.address)
  whenOver(of, () => {
    over.abort()
    free()
    onOver?.()
  })
  return over.signal
}
