import { Session } from 'node:inspector'
import { GCProfiler } from 'node:v8'

/** What work costs, whoever else the machine works for: so nothing here measures time. */
export type Work = {
  /**
   * How often a block of JavaScript was run. Only code is counted that runs for the first time after this file was
   * imported, and nothing under `npm run coverage`, which counts the same blocks.
   */
  readonly blocks: number
  /** Bytes of objects that were made, whatever became of them: about. */
  readonly bytes: number
}

/** Whoever takes a count takes it from the other. */
const isTaken = process.env['NODE_V8_COVERAGE'] !== undefined

const session = new Session()
session.connect()
session.post('Profiler.enable')
if (!isTaken) session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** The blocks that were run since the last time. */
export const blocksTaken = (): number => {
  let blocks = 0
  if (isTaken) return blocks
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    for (const { functions } of result)
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count
  })
  return blocks
}

/** How often a block was run while the work was done. */
export const blocksRun = (work: () => void): number => {
  blocksTaken()
  work()
  return blocksTaken()
}

/** What work costs that takes many turns, with all that is done meanwhile on this thread. */
export const workOf = async (work: () => Promise<unknown>): Promise<Work> => {
  const collections = new GCProfiler()
  collections.start()
  let { heapUsed: held } = process.memoryUsage()
  blocksTaken()
  await work()
  const blocks = blocksTaken()
  const { heapUsed } = process.memoryUsage()
  let bytes = 0
  for (const { beforeGC, afterGC } of collections.stop().statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - held
    held = afterGC.heapStatistics.usedHeapSize
  }
  return { blocks, bytes: bytes + heapUsed - held }
}
