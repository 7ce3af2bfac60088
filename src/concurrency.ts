import { setImmediate } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/** Milliseconds that work may hold the event loop before it yields. */
const SLICE_MS = 5

/** Milliseconds, by which slices are measured. */
let measure = (): number => performance.now()

/** Measures slices by something else from now on. Tests count with it. */
export const measureSlicesBy = (other: () => number): void => void (measure = other)

let turn: Promise<unknown> = Promise.resolve()

/** Yields to the event loop. Of all that wait here one resumes per turn, so many of them block it no longer than one. */
export const aside = async (): Promise<void> => {
  const mine = turn.then(() => setImmediate())
  turn = mine
  await mine
}

/** For work in many steps, called between two of them: a promise to wait for once the steps have taken `slice` milliseconds, else undefined. */
export const pacer = (slice = SLICE_MS): (() => Promise<void> | undefined) => {
  let end = measure() + slice
  return () => {
    if (measure() < end) return undefined
    return aside().then(() => {
      end = measure() + slice
    })
  }
}

/** Does the work for one item after the other until it says false, stepping aside where that takes long; what is short is done at once, without a promise. */
export const inSlices = <T>(items: readonly T[], work: (item: T) => boolean, from = 0): Promise<void> | undefined => {
  const pause = pacer()
  for (let n = from; n < items.length; n++) {
    if (!work(items[n]!)) return undefined
    const paused = pause()
    if (paused) return paused.then(() => inSlices(items, work, n + 1))
  }
  return undefined
}

/** Items that are sorted, or merged, in one piece. */
const RUN = 512

const merged = async <T>(one: readonly T[], other: readonly T[], isBefore: IsBefore<T>, pause: () => unknown) => {
  const all: T[] = []
  for (let n = 0, m = 0; n < one.length || m < other.length; ) {
    const takesOther = n === one.length || (m < other.length && isBefore(other[m]!, one[n]!))
    all.push(takesOther ? other[m++]! : one[n++]!)
    if (all.length % RUN === 0) await pause()
  }
  return all
}
type IsBefore<T> = (one: T, other: T) => boolean

/** The items in order, those that are alike as they stood; steps aside where that takes long. */
export const sortedInSlices = async <T>(items: readonly T[], isBefore: IsBefore<T>): Promise<readonly T[]> => {
  const pause = pacer()
  let runs: (readonly T[])[] = []
  for (let at = 0; at < items.length; at += RUN) {
    const run = items.slice(at, at + RUN)
    runs.push(run.sort((one, other) => (isBefore(one, other) ? -1 : isBefore(other, one) ? 1 : 0)))
    await pause()
  }
  while (runs.length > 1) {
    const next: (readonly T[])[] = []
    for (let n = 0; n < runs.length; n += 2)
      next.push(runs[n + 1] ? await merged(runs[n]!, runs[n + 1]!, isBefore, pause) : runs[n]!)
    runs = next
  }
  return runs[0] ?? []
}

/** Writes items in groups: those that come while the write before is under way go in the next one, together. */
export const gathered = <T>(write: (items: readonly T[]) => Promise<void>): ((item: T) => Promise<void>) => {
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
