import type { Clock } from './clock.ts'

/**
 * Runs work of one key sequentially, in the given order and regardless of earlier failures. Different keys run
 * independently.
 */
export const keyedQueue = () => {
  const last = new Map<string, Promise<unknown>>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}

/**
 * Runs one call per key at a time. Callers that arrive during a call share the next one, so each gets a result that was
 * started after its request.
 */
export const sharedCalls = <T>() => {
  type Calls = { readonly current: Promise<T>; next: Promise<T> | undefined }
  const calls = new Map<string, Calls>()
  const begin = (key: string, call: () => Promise<T>): Promise<T> => {
    const mine: Calls = {
      current: call().finally(() => {
        if (!mine.next) calls.delete(key)
      }),
      next: undefined,
    }
    calls.set(key, mine)
    return mine.current
  }
  return (key: string, call: () => Promise<T>): Promise<T> => {
    const before = calls.get(key)
    if (!before) return begin(key, call)
    const next = () => begin(key, call)
    return (before.next ??= before.current.then(next, next))
  }
}

/** Semaphore with a FIFO queue: `leave` lets the first waiting caller continue. */
export const semaphore = (places: number) => {
  const line = new Set<() => void>()
  let free = places

  /** Returns undefined if the caller need not wait. */
  const enter = (): Promise<void> | undefined => {
    if (free === 0) return new Promise((resolve) => line.add(resolve))
    free--
    return undefined
  }
  const leave = (): void => {
    const [next] = line
    if (next) {
      line.delete(next)
      next()
    } else free++
  }
  /** Like `enter`, for at most `ms` ms; resolves with false on timeout. */
  const enterWithin = (clock: Clock, ms: number): Promise<boolean> | undefined => {
    if (free > 0) {
      free--
      return undefined
    }
    return new Promise((resolve) => {
      const go = () => {
        timer.cancel()
        resolve(true)
      }
      const timer = clock.after(ms, () => {
        line.delete(go)
        resolve(false)
      })
      line.add(go)
    })
  }
  const released = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } finally {
      leave()
    }
  }

  return {
    enter,
    leave,
    /** Runs the work while it counts against the limit of the semaphore. */
    hold: async <T>(work: () => Promise<T>): Promise<T> => {
      await enter()
      return released(work)
    },
    /** Runs the work, or calls `late` if it cannot begin within `ms` ms. */
    holdWithin: async <T>(clock: Clock, ms: number, work: () => Promise<T>, late: () => never): Promise<T> =>
      (await enterWithin(clock, ms)) === false ? late() : released(work),
  }
}

/**
 * Maximum items of `eachTogether` in work at the same time. A store opens a connection in up to seven round trips, and a
 * call that waits for one must not reach its time limit.
 */
const TOGETHER = 4

/** Works on up to four items at the same time; returns the results in the order of the items. */
export const eachTogether = <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const gate = semaphore(TOGETHER)
  return Promise.all(items.map((item) => gate.hold(() => work(item))))
}
