// A service that tells its parent how many bytes of its heap are in use after a collection.
import { tellParent } from './watching.ts'

await tellParent(() => {
  globalThis.gc!()
  return process.memoryUsage().heapUsed
})
