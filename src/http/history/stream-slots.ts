import { setMaxListeners } from 'node:events'
import { Refusal } from '../../base/errors.ts'
import type { Call } from '../route/route.ts'
import { whenOver } from '../wire/room.ts'

/** Maximum number of streams of one credential at once. */
const EACH = 4

const AGAIN = { headers: { 'retry-after': '1' } }

/** Limits the streams of the history that run at once, on the instance and for each credential (api.md §16.5). */
export const streamSlots = (all: number) => {
  const own = new Map<string, number>()
  let running = 0
  const ending = new AbortController()
  // Each live stream listens to it.
  setMaxListeners(0, ending.signal)
  return {
    /** Signal that aborts when the service shuts down. */
    ending: ending.signal,
    end: (): void => ending.abort(),
    /** Number of running streams. */
    running: (): number => running,
    /**
     * Counts a new stream and returns the function that ends its count once. A stream over the limit is refused with
     * `rate_limited` or `history_busy`.
     */
    enter: (holder: string): (() => void) => {
      const had = own.get(holder) ?? 0
      if (had >= EACH) throw new Refusal('rate_limited', undefined, AGAIN)
      if (running >= all) throw new Refusal('history_busy', undefined, AGAIN)
      own.set(holder, had + 1)
      running++
      let left = false
      return () => {
        if (left) return
        left = true
        running--
        const remaining = own.get(holder)! - 1
        if (remaining > 0) own.set(holder, remaining)
        else own.delete(holder)
      }
    },
  }
}
export type StreamSlots = ReturnType<typeof streamSlots>

/**
 * Counts the request of a call as a running stream until it is over, and returns a signal that aborts then. `onOver` is
 * called at that time. A stream over the limit is refused as `enter` says.
 */
export const streamOf = (
  { historyStreams }: { readonly historyStreams: StreamSlots },
  call: Pick<Call<unknown, unknown>, 'caller' | 'request' | 'reply'>,
  onOver?: () => void,
): AbortSignal => {
  const over = new AbortController()
  const leave = historyStreams.enter(call.caller.actor.id ?? call.request.address)
  whenOver(call, () => {
    over.abort()
    leave()
    onOver?.()
  })
  return over.signal
}
