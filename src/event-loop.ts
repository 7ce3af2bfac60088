/** Milliseconds of a slice of the event loop. All work in steps shares the slice, whichever request it is for. */
const SLICE_MS = 5

/** Milliseconds of work that does not yield, whoever has used the slice. */
const SHORT_MS = 0.1

/** Turns of the event loop that everything else gets between two slices, and their milliseconds at most. A turn accepts one connection. */
const [TURNS_BETWEEN, BETWEEN_MS] = [8, 2 * SLICE_MS]

/** Milliseconds, by which slices are measured. */
let measure = (): number => performance.now()

/** The slice under way. */
let slice: { readonly began: number } | undefined

/** Measures slices by something else from now on. Tests count with it. */
export const measureSlicesBy = (other: () => number): void => {
  measure = other
  slice = undefined
}

type Resume = () => void
/** Who yields for the first time, and who had a slice before. */
const lines: { readonly fresh: Resume[]; readonly served: Resume[] } = { fresh: [], served: [] }
let [isResuming, isFreshNext] = [false, true]

/** When the slice under way began. It ends with the turn of the event loop, or, when somebody has yielded, with the turns of everything else. */
const sliceBegan = (): number => {
  if (slice) return slice.began
  const mine = { began: measure() }
  slice = mine
  setImmediate(() => {
    if (slice === mine && !isResuming) slice = undefined
  })
  return mine.began
}

/** Resumes one of those that wait, with a new slice. */
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
 * Yields to the event loop. Of all that wait here one resumes at a time, so many of them block it no longer than one. Those that yield for the
 * first time alternate with the others, so short work does not wait for all of the long work.
 */
export const yieldToEventLoop = (line: keyof typeof lines = 'fresh'): Promise<void> => {
  if (!isResuming) resumeLater()
  isResuming = true
  return new Promise((resume) => lines[line].push(resume))
}

/** For work in many steps, called between two of them: a promise to wait for once all such work has had its slice of `ms` milliseconds, else undefined. */
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

/** Does the work for one item after the other until it says false, yielding where that takes long; what is short is done at once, without a promise. */
export const forEachSliced = <T>(
  items: readonly T[],
  work: (item: T) => boolean,
  from = 0,
  pause = timeSlicer(),
): Promise<void> | undefined => {
  for (let n = from; n < items.length; n++) {
    if (!work(items[n]!)) return undefined
    const paused = pause()
    if (paused) return paused.then(() => forEachSliced(items, work, n + 1, pause))
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

/** The items in order, those that are alike as they stood; yields where that takes long. */
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
