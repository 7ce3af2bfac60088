import type { Clock } from '../../base/clock.ts'

/** The position reached so far, and the callers that wait for a later one. */
export const positionWaiters = (clock: Clock) => {
  const waiting = new Set<{ readonly position: bigint; readonly wake: () => void }>()
  let reached = 0n
  return {
    reached: (): bigint => reached,
    advance: (position: bigint): void => {
      reached = position
      for (const one of waiting) {
        if (one.position > position) continue
        waiting.delete(one)
        one.wake()
      }
    },
    /** Resolves to true once the position is reached, to false after `withinMs` milliseconds. */
    waitFor: async (position: bigint, withinMs: number): Promise<boolean> => {
      if (position <= reached) return true
      return new Promise((answer) => {
        const one = {
          position,
          wake: () => {
            timer.cancel()
            answer(true)
          },
        }
        const timer = clock.after(withinMs, () => {
          waiting.delete(one)
          answer(false)
        })
        waiting.add(one)
      })
    },
  }
}
