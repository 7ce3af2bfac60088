import { setImmediate } from 'node:timers/promises'
import type { Clock, Timer } from '../src/clock.ts'
import { measureSlicesBy } from '../src/event-loop.ts'

// However slow the machine is, no work steps aside in the midst of a step of the virtual clock.
measureSlicesBy(() => 0)

/** A clock that stands still until a test moves it. */
export type VirtualClock = Clock & {
  /** Moves both clocks on by so many milliseconds, through every timer that is due, in order; what each sets off comes to rest before the next. Who moves it meanwhile too comes after. */
  readonly advance: (ms: number) => Promise<void>
  /** Moves the wall clock alone, as somebody does who sets it. */
  readonly jump: (ms: number) => void
  /** Lets everything that waits for no timer come to rest. */
  readonly settle: () => Promise<void>
  /** In how many milliseconds each timer is due, the next first: what is waited for just now. */
  readonly waiting: () => readonly number[]
}

/** Turns of the event loop after which what runs on promises alone has come to rest. */
const TURNS = 10

/** A virtual clock, whose wall clock begins at that time. */
export const virtualClock = (begin = '2026-01-01T00:00:00.000Z'): VirtualClock => {
  let elapsed = 0
  /** What the wall clock showed when nothing had elapsed: to add each step to it would lose parts of milliseconds. */
  let origin = Date.parse(begin)
  let present = new Date(origin)
  const timers = new Set<{ due: number; readonly work: () => void; readonly every?: number }>()

  const set = (ms: number, work: () => void, every?: number): Timer => {
    const entry = { due: elapsed + Math.max(0, ms), work, ...(every !== undefined && { every }) }
    timers.add(entry)
    const timer: Timer = { cancel: () => void timers.delete(entry), unref: () => timer }
    return timer
  }
  /** The timer that is due first; of several, the one that was set first. */
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
  /** The last move that was asked for. */
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
