import { setTimeout as sleep } from 'node:timers/promises'

/** Scheduled work. */
export type Timer = {
  /** Cancels the work. */
  readonly cancel: () => void
  /** The timer does not keep the process alive. */
  readonly unref: () => Timer
}

/**
 * PORT. Time. Code that waits, measures or compares times takes a clock as a parameter, so that tests can move it
 * (docs/decisions/0033).
 */
export type Clock = {
  /** True if it runs like the clocks of other machines, so that time limits can be sent to servers. */
  readonly real: boolean
  /** Wall clock, which may jump. Returns the same object within a millisecond. */
  readonly now: () => Date
  /** Milliseconds, with fractions, since an arbitrary moment. Never goes backwards. */
  readonly monotonic: () => number
  /** Resolves after `ms` milliseconds, or when the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Runs work once after `ms` milliseconds. */
  readonly after: (ms: number, work: () => void) => Timer
  /** Runs work every `ms` milliseconds. The timer does not keep the process alive. */
  readonly every: (ms: number, work: () => void) => Timer
  /** Signal that aborts with a `TimeoutError` after `ms` milliseconds. */
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

/** Longest wait of a timer in ms, almost 25 days. Timers of Node.js fire at once if they are set to a longer one. */
export const LONGEST_MS = 2 ** 31 - 1
const bounded = (ms: number): number => Math.min(ms, LONGEST_MS)

let present = new Date()

/**
 * Clock of the machine, with waits of at most `LONGEST_MS`. Only code that assembles a process refers to it; everything
 * else takes a clock as a parameter.
 */
export const systemClock: Clock = {
  real: true,
  now: () => {
    const time = Date.now()
    if (time !== present.getTime()) present = new Date(time)
    return present
  },
  monotonic: performance.now.bind(performance),
  sleep: (ms, signal) => sleep(bounded(ms), undefined, signal && { signal }).catch(() => undefined),
  after: (ms, work) => timerOf(setTimeout(work, bounded(ms))),
  every: (ms, work) => timerOf(setInterval(work, bounded(ms)).unref()),
  timeout: (ms) => AbortSignal.timeout(bounded(ms)),
}

/**
 * Result of the work, or of `late` if the work takes longer than `ms` milliseconds. A result that arrives later is
 * discarded.
 */
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
