import { setTimeout as sleep } from 'node:timers/promises'

/** Length in ms of a slice of the event loop. All sliced work of all requests shares it. */
const SLICE_MS = 5

/** Time in ms that new work may run without yielding, even if the slice is used up. */
const SHORT_MS = 0.1

/** Turns of the event loop between two slices, and their maximum duration in ms. A turn accepts one connection. */
const [TURNS_BETWEEN, BETWEEN_MS] = [8, 2 * SLICE_MS]

/** A request slows background work down for this time in ms. */
const SERVING_MS = 20
/** Length in ms of a slice of background work meanwhile, and the length of the pause after it, in slices. */
const [BACKGROUND_MS, PAUSES] = [2, 2]

/** Clock of the slices, in ms, and its timer. */
let measure = (): number => performance.now()
let rest: (ms: number) => Promise<unknown> = sleep

/** Number of requests that arrived, which slow background work down. A request costs one addition. */
export const arrivals = { count: 0 }

/** Number of requests at the last look at it, the time of that look, and the end of the last pause of background work. */
let [seenArrivals, arrivedAt, restUntil] = [0, Number.NEGATIVE_INFINITY, 0]

let slice: { readonly began: number } | undefined

const oneTurn = (): Promise<void> => new Promise((wake) => setImmediate(wake))

/** Replaces the clock of the slices and its timer; for tests. Without a timer, a pause is one turn of the event loop. */
export const measureSlicesBy = (other: () => number, otherRest: typeof rest = oneTurn): void => {
  measure = other
  rest = otherRest
  slice = undefined
  ;[seenArrivals, arrivedAt, restUntil] = [arrivals.count, Number.NEGATIVE_INFINITY, 0]
}

type Resume = () => void
/** Queues of paused work: work that yields for the first time, and work that already had a slice. */
const lines: { readonly fresh: Resume[]; readonly served: Resume[] } = { fresh: [], served: [] }
let [isResuming, isFreshNext] = [false, true]

/**
 * Start of the current slice. A slice ends with the turn of the event loop; if work is paused, with the turns that
 * follow.
 */
const sliceBegan = (): number => {
  if (slice) return slice.began
  const mine = { began: measure() }
  slice = mine
  setImmediate(() => {
    if (slice === mine && !isResuming) slice = undefined
  })
  return mine.began
}

/** Resumes one paused task with a new slice. */
const resumeNext = (): void => {
  const line = lines.served.length === 0 || (isFreshNext && lines.fresh.length > 0) ? lines.fresh : lines.served
  isFreshNext = line === lines.served
  const resume = line.shift()
  isResuming = lines.fresh.length + lines.served.length > 0
  if (isResuming) resumeLater()
  slice = undefined
  sliceBegan()
  resume?.()
}
const resumeLater = (turns = TURNS_BETWEEN, until = measure() + BETWEEN_MS): void =>
  void setImmediate(() => (turns > 1 && measure() < until ? resumeLater(turns - 1, until) : resumeNext()))

/**
 * Yields to the event loop. Only one paused task resumes at a time, so that many tasks together block the loop no
 * longer than one. Tasks that yield for the first time alternate with the others, so short work does not wait for all
 * long work.
 */
export const yieldToEventLoop = (line: keyof typeof lines = 'fresh'): Promise<void> => {
  if (!isResuming) resumeLater()
  isResuming = true
  return new Promise((resume) => lines[line].push(resume))
}

/**
 * Slicer for work in many steps. Call it between steps: it returns a promise to await if the shared slice of `ms` ms is
 * used up, else undefined.
 */
export const timeSlicer = (ms = SLICE_MS): (() => Promise<void> | undefined) => {
  sliceBegan()
  const isShortUntil = measure() + SHORT_MS
  let line: keyof typeof lines = 'fresh'
  return () => {
    const now = measure()
    if (now < sliceBegan() + ms || now < isShortUntil) return undefined
    const paused = yieldToEventLoop(line)
    line = 'served'
    return paused
  }
}

/**
 * Slicer for background work, such as exports and builds. While requests arrive, all background work together has short
 * slices, and pauses between them that are longer than the slices. Otherwise it is like any other work.
 */
export const backgroundSlicer = (): (() => Promise<void> | undefined) => {
  const usual = timeSlicer()
  return () => {
    const now = measure()
    if (arrivals.count !== seenArrivals) [seenArrivals, arrivedAt] = [arrivals.count, now]
    if (now >= arrivedAt + SERVING_MS) return usual()
    const used = now - sliceBegan()
    if (used < BACKGROUND_MS) return undefined
    // The pauses of several tasks follow one another, each after the slice of the task before.
    restUntil = Math.max(now, restUntil + used) + used * PAUSES
    return rest(restUntil - now).then(() => yieldToEventLoop('served'))
  }
}

/**
 * Runs the work for each item until it returns false, yielding when a slice is used up. Returns undefined if it
 * finishes within the slice.
 */
export const forEachSliced = <T>(
  items: Iterable<T>,
  work: (item: T) => unknown,
  pause = timeSlicer(),
): Promise<void> | undefined => {
  const left = items[Symbol.iterator]()
  const go = (): Promise<void> | undefined => {
    for (let next = left.next(); !next.done; next = left.next()) {
      if (work(next.value) === false) return undefined
      const paused = pause()
      if (paused) return paused.then(go)
    }
    return undefined
  }
  return go()
}

/** Items of pages in parts. A part ends with its page, or when a slice is used up, and then other work runs. */
export async function* sliced<T>(
  pages: AsyncIterable<Iterable<T>> | Iterable<Iterable<T>>,
  pause = timeSlicer(),
): AsyncGenerator<Iterable<T>> {
  for await (const page of pages) {
    const left = page[Symbol.iterator]()
    let [paused, isOver] = [undefined as Promise<void> | undefined, false]
    const part = function* (): Generator<T> {
      paused = undefined
      for (let next = left.next(); !next.done; next = left.next()) {
        yield next.value
        paused = pause()
        if (paused) return
      }
      isOver = true
    }
    for (;;) {
      yield part()
      if (isOver) break
      await paused
    }
  }
}

/** Number of items sorted or merged without yielding. */
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

/** Stable merge sort that yields when a slice is used up. */
export const sortSliced = async <T>(items: readonly T[], isBefore: IsBefore<T>): Promise<readonly T[]> => {
  const pause = timeSlicer()
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
