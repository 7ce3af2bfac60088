// Service with slices of one step each. It reports to its parent in how many turns of its event loop a step was made.
import { measureSlicesBy } from '../../src/base/event-loop.ts'
import { tellParent } from './watching.ts'

/** Time in ms, longer than any slice. */
const LONG = 1_000

/** Turns without a step after which counting stops, because it keeps the loop awake. */
const IDLE = 100

// A repeating immediate separates turns. A mark cleared in the next turn would not, because a step can run before that.
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
