import { Session } from 'node:inspector'
import { GCProfiler } from 'node:v8'

/** Cost of work, independent of other load on the machine, so it does not measure time. */
export type Work = {
  /**
   * Number of executed blocks of JavaScript. Counts only code that first runs after the import of this file, and
   * nothing under `npm run coverage`, which uses the same counters.
   */
  readonly blocks: number
  /** Approximate bytes of allocated objects, including collected ones. */
  readonly bytes: number
}

/** Taking a coverage count resets it for other readers. */
const isTaken = process.env['NODE_V8_COVERAGE'] !== undefined

const session = new Session()
session.connect()
session.post('Profiler.enable')
if (!isTaken) session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Returns the blocks executed since the last call. */
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

/** Returns the number of blocks that the work executed. */
export const blocksRun = (work: () => void): number => {
  blocksTaken()
  work()
  return blocksTaken()
}

/** Measures work of many turns, including everything else on this thread. */
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
