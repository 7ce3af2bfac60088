import { setImmediate } from 'node:timers/promises'
import { type Clock, LONGEST_MS, type Timer } from '../src/base/clock.ts'
import { measureSlicesBy } from '../src/base/event-loop.ts'

// Work does not yield within a step of the virtual clock, even on a slow machine.
measureSlicesBy(() => 0)

/** Clock that only a test advances. */
export type VirtualClock = Clock & {
  /**
   * Advances both clocks by `ms` and fires due timers in order; the effects of each settle before the next. Concurrent
   * calls run one after another.
   */
  readonly advance: (ms: number) => Promise<void>
  /** Sets the wall clock forward or back without the monotonic clock. */
  readonly jump: (ms: number) => void
  /** Waits until all work without timers has settled. */
  readonly settle: () => Promise<void>
  /** Remaining ms of each pending timer, in order. */
  readonly waiting: () => readonly number[]
}

/** Turns of the event loop after which work on promises has settled. */
const TURNS = 10

/** Creates a virtual clock whose wall clock starts at a time. */
export const virtualClock = (begin = '2026-01-01T00:00:00.000Z'): VirtualClock => {
  let elapsed = 0
  /** Wall clock at elapsed time 0. Adding up steps instead would lose fractions of milliseconds. */
  let origin = Date.parse(begin)
  let present = new Date(origin)
  const timers = new Set<{ due: number; readonly work: () => void; readonly every?: number }>()

  // A timer ends after the longest wait of Node.js at the latest, like those of the system clock.
  const set = (ms: number, work: () => void, every?: number): Timer => {
    const entry = { due: elapsed + Math.min(Math.max(0, ms), LONGEST_MS), work, ...(every !== undefined && { every }) }
    timers.add(entry)
    const timer: Timer = { cancel: () => void timers.delete(entry), unref: () => timer }
    return timer
  }
  /** Returns the next timer; of several due at once, the first set. */
  const next = () => {
    let first: { due: number; readonly work: () => void; readonly every?: number } | undefined
    for (const timer of timers) if (!first || timer.due < first.due) first = timer
    return first
  }
  const pass = (to: number) => {
    elapsed = to
  }
  const settle = async () => {
    for (let n = 0; n < TURNS; n++) await setImmediate()
  }
  const move = async (ms: number) => {
    const end = elapsed + ms
    await settle()
    for (let timer = next(); timer && timer.due <= end; timer = next()) {
      pass(timer.due)
      timers.delete(timer)
      if (timer.every !== undefined) {
        timer.due += timer.every
        timers.add(timer)
      }
      timer.work()
      await settle()
    }
    pass(end)
    await settle()
  }
  /** Last requested advance. */
  let moved = Promise.resolve()

  return {
    real: false,
    now: () => {
      const wall = Math.floor(origin + elapsed)
      if (present.getTime() !== wall) present = new Date(wall)
      return present
    },
    monotonic: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((wake) => {
        if (signal?.aborted) return wake()
        const over = () => {
          timer.cancel()
          signal?.removeEventListener('abort', over)
          wake()
        }
        const timer = set(ms, over)
        signal?.addEventListener('abort', over)
      }),
    after: (ms, work) => {
      const timer = set(ms, () => {
        timer.cancel()
        work()
      })
      return timer
    },
    every: (ms, work) => set(ms, work, Math.max(1, ms)),
    timeout: (ms) => {
      const stop = new AbortController()
      set(ms, () => stop.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')))
      return stop.signal
    },
    advance: (ms) => {
      const done = moved.then(() => move(ms))
      moved = done.catch(() => undefined)
      return done
    },
    jump: (ms) => void (origin += ms),
    settle,
    waiting: () => [...timers].map(({ due }) => due - elapsed).toSorted((a, b) => a - b),
  }
}
