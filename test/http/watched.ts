// A service whose slices are one step long each. It tells its parent in how many turns of its event loop a step was made.
import { measureSlicesBy } from '../../src/event-loop.ts'
import { tellParent } from './watching.ts'

/** Milliseconds, longer than any slice. */
const LONG = 1_000

/** So many turns without a step end the counting of turns, which keeps the loop awake. */
const IDLE = 100

// A turn is told from the next by an immediate that asks for itself anew. A mark that is taken back in the next turn would not do: a step of
// that turn can run before the mark is gone.
let [looks, turns, turn, counted, idle] = [0, 0, 0, 0, IDLE]
const next = () => {
  turn++
  if (++idle < IDLE) setImmediate(next)
}
measureSlicesBy(() => {
  if (idle >= IDLE) setImmediate(next)
  if (idle >= IDLE || counted !== turn) turns++
  counted = turn
  idle = 0
  return ++looks * LONG
})

await tellParent(() => {
  const told = turns
  turns = 0
  return told
})
