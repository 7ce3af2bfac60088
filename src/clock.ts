import { setTimeout as sleep } from 'node:timers/promises'

/** Work that a clock does later. */
export type Timer = {
  /** It is not done any more. */
  readonly cancel: () => void
  /** It keeps no process alive that has nothing else to do. */
  readonly unref: () => Timer
}

/**
 * PORT. Time. Whatever waits, measures or judges by time is given one of these, so that a test can be the one who moves it
 * (docs/decisions/0033).
 */
export type Clock = {
  /** True where it moves as the clocks of other machines do, so that they can be told limits. */
  readonly real: boolean
  /** The wall clock, which may jump. Asked often within a millisecond, it gives the same object. */
  readonly now: () => Date
  /** Milliseconds since some moment, with fractions. It never goes backwards. */
  readonly monotonic: () => number
  /** Resolves after so many milliseconds, or as soon as the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Does work once, after so many milliseconds. */
  readonly after: (ms: number, work: () => void) => Timer
  /** Does work every so many milliseconds. Keeps no process alive. */
  readonly every: (ms: number, work: () => void) => Timer
  /** A signal that aborts with a `TimeoutError` after so many milliseconds. */
  readonly timeout: (ms: number) => AbortSignal
}

const timerOf = (timeout: NodeJS.Timeout): Timer => {
  const timer: Timer = {
    cancel: () => clearTimeout(timeout),
    unref: () => {
      timeout.unref()
      return timer
    },
  }
  return timer
}

let present = new Date()

/** The clock of the machine. Only what puts a process together names it; everything else is given a clock. */
export const systemClock: Clock = {
  real: true,
  now: () => {
    const time = Date.now()
    if (time !== present.getTime()) present = new Date(time)
    return present
  },
  monotonic: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => undefined),
  after: (ms, work) => timerOf(setTimeout(work, ms)),
  every: (ms, work) => timerOf(setInterval(work, ms).unref()),
  timeout: (ms) => AbortSignal.timeout(ms),
}

/** The outcome of the work, or that of `late` when the work takes longer than that many milliseconds; a later outcome is dropped. */
export const withTimeout = async <T, L>(
  { after }: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> => {
  let timer: Timer | undefined
  const over = new Promise<void>((wake) => (timer = after(ms, wake)))
  try {
    return await Promise.race([work, over.then(late)])
  } finally {
    timer?.cancel()
  }
}
