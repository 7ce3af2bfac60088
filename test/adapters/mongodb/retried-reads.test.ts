import t from 'tap'
import { mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { mongoViews, type ViewsParts } from '../../../src/adapters/mongodb/views.ts'
import { Refusal } from '../../../src/base/errors.ts'
import { virtualClock } from '../../virtual-clock.ts'

const view = { name: 'pets', version: 1, fields: ['name', 'size'], indexes: [] }
/** Pauses in ms between retries of a read during startup. */
const PAUSES = [250, 500, 1_000, 2_000] as const

/** Views whose reads during startup fail this number of times. */
const failing = (times: number, error: Error = new Refusal('backend_unavailable')) => {
  const clock = virtualClock()
  const calls = mongoCalls(clock)
  const seen = { asked: 0 }
  const fail = () => {
    if (seen.asked++ < times) throw error
  }
  const places = {
    find: async () => ({ rows: 'pets_1' }),
    collection: () => ({
      find: () => ({
        toArray: async () => {
          fail()
          return [{ _id: 'a', revision: 0n, position: 1n, changes: 1n }]
        },
      }),
    }),
    reading: async () => {
      fail()
      return [{ _id: 7, n: 2n }]
    },
  }
  const views = mongoViews({ calls, clock, places, rows: {}, records: {} } as unknown as ViewsParts)
  return { clock, calls, views, seen }
}
type Failing = ReturnType<typeof failing>

const reads: Readonly<Record<string, (views: Failing['views']) => Promise<unknown>>> = {
  scan: async (views) => {
    let rows = 0
    for await (const page of views.scan(view)) rows += page.length
    return rows
  },
  tally: async (views) => [...(await views.tally(view, 'name', 'size'))],
}
const outcomeOf = (work: Promise<unknown>) => {
  const seen: { outcome?: unknown } = {}
  work.then(
    (value) => (seen.outcome = value),
    (error: unknown) => (seen.outcome = error),
  )
  return seen
}
/** Advances the clock through the pauses one by one and checks their lengths. */
const throughPauses = async (t: Tap, { clock, seen }: Failing, pauses: readonly number[]) => {
  await clock.settle()
  for (const [n, pause] of pauses.entries()) {
    t.same([seen.asked, clock.waiting()], [n + 1, [pause]])
    await clock.advance(pause - 1)
    t.equal(seen.asked, n + 1)
    await clock.advance(1)
    t.equal(seen.asked, n + 2)
  }
  t.same(clock.waiting(), [])
}
type Tap = Pick<typeof t, 'same' | 'equal'>

for (const [name, read] of Object.entries(reads)) {
  await t.test(`${name}: a read that fails four times is repeated after ${PAUSES.join(', ')} ms`, async (t) => {
    const world = failing(4)
    const result = outcomeOf(read(world.views))
    await throughPauses(t, world, PAUSES)
    t.strictSame(result.outcome, name === 'scan' ? 1 : [['7', 2]])
  })

  await t.test(`${name}: a read that fails five times is given up`, async (t) => {
    const world = failing(Number.POSITIVE_INFINITY)
    const result = outcomeOf(read(world.views))
    await throughPauses(t, world, PAUSES)
    t.match(result.outcome, new Refusal('backend_unavailable'))
    await world.clock.advance(60_000)
    t.equal(world.seen.asked, 5)
  })

  await t.test(`${name}: a read is not repeated after another error or after the close`, async (t) => {
    const other = failing(1, new Refusal('body_too_large'))
    await t.rejects(read(other.views), new Refusal('body_too_large'))
    t.equal(other.seen.asked, 1)
    const closed = failing(1)
    await closed.calls.close(async () => undefined)
    await t.rejects(read(closed.views), new Refusal('backend_unavailable'))
    t.ok(closed.seen.asked <= 1)
  })
}
