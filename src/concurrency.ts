import { setImmediate } from 'node:timers/promises'

/** So long work may go on before everybody else has a turn. */
const SLICE_MS = 10

let turn: Promise<unknown> = Promise.resolve()

/** Lets everybody else go first. Of all that wait here one goes on at a time, so many of them hold nobody up longer than one. */
export const aside = async (): Promise<void> => {
  const mine = turn.then(() => setImmediate())
  turn = mine
  await mine
}

/** For work in many steps: asked between two of them, gives what to wait for where the steps have taken long enough; milliseconds. */
export const pacer = (slice = SLICE_MS): (() => Promise<void> | undefined) => {
  let end = performance.now() + slice
  return () => {
    if (performance.now() < end) return undefined
    return aside().then(() => {
      end = performance.now() + slice
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
