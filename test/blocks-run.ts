import { Session } from 'node:inspector'

/** `npm run coverage` counts the same blocks: whoever takes a count takes it from the other. */
const isTaken = process.env['NODE_V8_COVERAGE'] !== undefined

const session = new Session()
session.connect()
session.post('Profiler.enable')
if (!isTaken) session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** All counts since the last time. */
const taken = (): number => {
  let blocks = 0
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    for (const { functions } of result)
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count
  })
  return blocks
}

/**
 * How often a block of JavaScript was run while the work was done: what the work costs, whoever else the machine works for.
 * Only code is counted that runs for the first time after this file was imported. Under `npm run coverage` nothing is counted.
 */
export const blocksRun = (work: () => void): number => {
  if (isTaken) {
    work()
    return 0
  }
  taken()
  work()
  return taken()
}
