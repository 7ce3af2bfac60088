import type { Clock } from './clock.ts'

/** Writes items in groups: those that come while the write before is under way go in the next one, together. */
export const batched = <T>(write: (items: readonly T[]) => Promise<void>): ((item: T) => Promise<void>) => {
  let gathering: { readonly items: T[]; readonly done: Promise<void> } | undefined
  let before: Promise<unknown> = Promise.resolve()
  return (item) => {
    if (!gathering) {
      const items: T[] = []
      const done = before.then(() => {
        gathering = undefined
        return write(items)
      })
      gathering = { items, done }
      before = done.catch(() => undefined)
    }
    gathering.items.push(item)
    return gathering.done
  }
}

/** Runs what is given under one key one after the other in the order given, whatever becomes of those before; different keys do not wait for each other. */
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
 * Runs one call a key at a time: callers that come meanwhile share the next one, so that each gets a result that was begun after it asked.
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

/** Lets a number of holders in at once. Who comes then waits in line; a place that is left goes to the first of the line. */
export const semaphore = (places: number) => {
  const line = new Set<() => void>()
  let free = places

  /** Nothing to wait for when there is a place. */
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
  /** As `enter`, for no longer than so many milliseconds: false for who has left the line by then. */
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
    /** Does the work while it holds a place. */
    hold: async <T>(work: () => Promise<T>): Promise<T> => {
      await enter()
      return released(work)
    },
    /** Does the work while it holds a place, or answers as `late` does when there is none within so many milliseconds. */
    holdWithin: async <T>(clock: Clock, ms: number, work: () => Promise<T>, late: () => never): Promise<T> =>
      (await enterWithin(clock, ms)) === false ? late() : released(work),
  }
}
