import { measureSlicesBy } from '../src/base/event-loop.ts'

/** Counts the turns of the event loop during work whose every step exceeds a slice, also if it fails. */
export const turnsOf = async (work: () => Promise<unknown>): Promise<number> => {
  let [looks, turns, over] = [0, 0, false]
  measureSlicesBy(() => ++looks * 1_000)
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  count()
  await work().catch(() => undefined)
  over = true
  measureSlicesBy(() => 0)
  return turns
}
