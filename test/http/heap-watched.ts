// Service that reports its heap size after a collection to its parent.
import { tellParent } from './watching.ts'

await tellParent(() => {
  globalThis.gc!()
  return process.memoryUsage().heapUsed
})
