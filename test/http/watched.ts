// A service whose slices are one step long each. It tells its parent in how many turns of its event loop a step was made.
import { measureSlicesBy } from '../../src/concurrency.ts'
import { tellParent } from './watching.ts'

/** Milliseconds, longer than any slice. */
const LONG = 1_000

let [looks, turns, isCounted] = [0, 0, false]
measureSlicesBy(() => {
  if (!isCounted) {
    isCounted = true
    turns++
    setImmediate(() => (isCounted = false))
  }
  return ++looks * LONG
})

await tellParent(() => {
  const counted = turns
  turns = 0
  return counted
})
