import { measureSlicesBy } from '../src/event-loop.ts'

/** How many turns of the event loop go by during a work whose every step is longer than a slice, whatever it comes to. */
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
