import t from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { draws } from '../draws.ts'
import { type Call, CHILD, canTrace, inspect, NO_STRACE, rounds, startChild, startUntil } from './rig.ts'

/** Ranges of system calls: after these a writer has acknowledged events; before the others it has only opened files. */
const writing = { 'fsync,fdatasync': [60, 260], pwrite64: [600, 2_600] } as const
const opening = { 'fsync,fdatasync': [1, 6], pwrite64: [1, 30] } as const
const calls: readonly Call[] = ['fsync,fdatasync', 'pwrite64']

void t.test('repeated kills lose no acknowledged event, and a rebuild gives the same read models', async (t) => {
  const [traced, draw] = [await canTrace(), draws(t)]
  const directory = await newDirectory(t)
  const acked = new Map<string, { stream: string; revision: bigint }>()
  const killed = async (round: number, at: typeof writing | typeof opening) => {
    const writers = String([1, 8, 64][round % 3])
    const call = calls[round % 2]!
    const [from, below] = at[call]
    const n = draw(from, below)
    if (!traced) {
      const { until, kill, acked: said, count } = startChild([CHILD, directory, writers])
      await until(() => count('ack') >= n, `acknowledgement ${n}`)
      await kill()
      return { said: said(), when: `at acknowledgement ${n}` }
    }
    const { closed, acked: said } = startUntil({ call, n, signal: 'KILL' }, [directory, writers])
    await closed
    return { said: said(), when: `at its ${call} ${n}` }
  }
  const whole = async (what: string) => {
    const { events, lost, torn, differing } = await inspect(directory, acked)
    t.same(
      { lost, torn, differing },
      { lost: 0, torn: 0, differing: 0 },
      `${what}: ${acked.size} acknowledged, ${events} found`,
    )
  }

  for (let round = 1; round <= rounds(8); round++) {
    const { said, when } = await killed(round, writing)
    t.ok(said.size > 0, `round ${round}, ${when}: something was acknowledged`)
    for (const [id, at] of said) acked.set(id, at)
    await whole(`round ${round}, killed ${when}`)
  }
  if (!traced) return t.comment(`not killed while it opens: ${NO_STRACE}`)
  for (let round = 1; round <= rounds(4); round++) {
    const { said, when } = await killed(round, opening)
    for (const [id, at] of said) acked.set(id, at)
    await whole(`killed while it opens, ${when}`)
  }
})
