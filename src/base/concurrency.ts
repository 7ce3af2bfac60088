import { fairGate } from './gate.ts'

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

/**
 * Gathers the items that callers pass before the present work of the process ends, and gives them to one call of `work`,
 * which starts after it and returns their results in order.
 */
export const gathered = <T, R>(work: (items: readonly T[]) => Promise<readonly R[]>) => {
  let items: T[] = []
  let results: Promise<readonly R[]> | undefined
  return async (item: T): Promise<R> => {
    const n = items.push(item) - 1
    results ??= new Promise<void>((begin) => process.nextTick(begin)).then(() => {
      const all = items
      ;[items, results] = [[], undefined]
      return work(all)
    })
    return (await results)[n]!
  }
}

/**
 * Maximum items of `eachTogether` in work at the same time. A store opens a connection in up to seven round trips, and a
 * call that waits for one must not reach its time limit.
 */
const TOGETHER = 4

/** Works on up to four items at the same time; returns the results in the order of the items. */
export const eachTogether = <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const gate = fairGate({ total: TOGETHER })
  return Promise.all(items.map((item) => gate.run(() => work(item))))
}

/** Consecutive parts of a list with at most `size` items each. */
export function* partsOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let n = 0; n < all.length; n += size) yield all.slice(n, n + size)
}
