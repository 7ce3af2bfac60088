import t from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { CHILD, inspect, rounds, sleep, startChild } from './rig.ts'

void t.test(
  'a process killed again and again loses nothing it acknowledged, tears nothing, and its views catch up to a rebuild',
  async (t) => {
    const directory = await newDirectory(t)
    const acked = new Map<string, { stream: string; revision: bigint }>()
    for (let round = 1; round <= rounds(8); round++) {
      const { until, kill, acked: said, count } = startChild([CHILD, directory, String([1, 8, 64][round % 3])])
      await until(() => count('ack') > 0)
      await sleep(Math.random() * 150)
      await kill()
      const before = acked.size
      for (const [id, at] of said()) acked.set(id, at)
      t.ok(acked.size > before, `round ${round} acknowledged something`)
      const { events, lost, torn, differing } = await inspect(directory, acked)
      t.same(
        { lost, torn, differing },
        { lost: 0, torn: 0, differing: 0 },
        `round ${round}: ${acked.size} acknowledged, ${events} found`,
      )
    }
  },
)
