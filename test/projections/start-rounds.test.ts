import t from 'tap'
import { readModelsOf } from '../../src/app/stores/read-models.ts'
import { projections } from '../../src/projections/all.ts'
import { checkpointsOf, START } from '../../src/projections/engine/checkpoints.ts'
import { inspectViews } from '../../src/projections/engine/continuity.ts'
import { runner } from '../../src/projections/engine/runner.ts'
import { logMarksAndStates } from '../../src/projections/history/stream-states.ts'
import { memoryLog } from '../memory-log.ts'
import { type Call, memoryViews } from '../memory-views.ts'
import { virtualClock } from '../virtual-clock.ts'

const key = Buffer.alloc(32)
const models = readModelsOf(key)

/**
 * Views as far away as one turn of the event loop: the calls of a turn are one round trip. `rounds`: number of calls of
 * each kind in each round trip.
 */
const distantViews = () => {
  const rounds: Partial<Record<Call['name'], number>>[] = []
  let waiting: (() => void)[] = []
  const next = () => {
    const now = waiting
    waiting = []
    for (const go of now) go()
  }
  const stored = memoryViews(({ name }) => {
    if (waiting.length === 0) {
      rounds.push({})
      setImmediate(next)
    }
    const round = rounds.at(-1)!
    round[name] = (round[name] ?? 0) + 1
    return new Promise<void>((go) => void waiting.push(go))
  })
  return { ...stored, rounds }
}

/** Views of a deployment at the start of its log. */
const begunViews = () => {
  const distant = distantViews()
  for (const { name } of models) distant.checkpoints.set(name, START)
  return distant
}

await t.test('a start inspects four read models at the same time', async (t) => {
  const { views, rounds } = begunViews()
  const binding = { read: async () => undefined }
  const { views: found } = await inspectViews(memoryLog(), views, binding, models)
  t.strictSame(
    found.map(({ name }) => name),
    models.map(({ name }) => name),
  )
  const each = (calls: number) => [{ checkpoint: calls }, { newest: calls }, { totals: calls }]
  t.strictSame(rounds, [...each(4), ...each(4), ...each(3)])
})

await t.test('the first start looks up all read models at the same time, and creates four', async (t) => {
  const { views, rounds } = distantViews()
  const run = runner({
    clock: virtualClock(),
    log: memoryLog(),
    views,
    projections,
    chronicles: logMarksAndStates(key),
    remember: () => undefined,
    onError: (error) => t.fail(String(error)),
    agrees: async () => true,
  })
  await run.start()
  t.strictSame(rounds.slice(0, 5), [{ checkpoint: 10 }, { mark: 4 }, { mark: 4 }, { mark: 2 }, { checkpoint: 10 }])
  await run.close()
})

await t.test('the writer of the read models reads and moves all checkpoints in one round trip', async (t) => {
  const { views, rounds } = begunViews()
  const checkpoints = checkpointsOf(views, [...projections, ...logMarksAndStates(key)], { has: async () => true })
  await checkpoints.load()
  t.strictSame(rounds, [{ checkpoint: 10 }, { totals: 4 }, { totals: 4 }, { totals: 2 }])
  const marked = rounds.length
  const to = [...checkpoints.reached()].map(([model, from]) => [model, { ...from, position: 1n }] as const)
  t.ok(await checkpoints.mark(new Map(to)))
  t.ok(await checkpoints.stand())
  t.strictSame(rounds.slice(marked), [{ mark: 10 }, { checkpoint: 10 }])
})
