// A service that tells for how long its event loop stood still.

import { dense } from '../../test/http/dense.ts'
import { tellParent } from '../../test/http/watching.ts'

const LARGEST = 4_194_304

type Used = { readonly user: number; readonly system: number }
type Usage = (before?: Used) => Used
/** What this thread has used; on a Node that cannot tell, what all threads of the process have. */
const { threadCpuUsage: used = (before) => process.cpuUsage(before) } = process as { readonly threadCpuUsage?: Usage }

let [longest, wall, cpu] = [0, performance.now(), used()]
const tick = (): void => {
  const [passed, { user, system }] = [performance.now() - wall, used(cpu)]
  // A machine with other work stops everybody: only time in which this thread worked counts.
  longest = Math.max(longest, Math.min(passed, (user + system) / 1000))
  wall = performance.now()
  cpu = used()
}
setInterval(tick, 1)

const { members } = dense(LARGEST)
await tellParent((what) => {
  tick()
  if (what === 'parse') {
    longest = 0
    JSON.parse(members!)
    tick()
  }
  const told = longest
  longest = 0
  return told
})
