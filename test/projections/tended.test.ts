import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { tended } from '../../src/projections/engine/tended.ts'

const view = { name: 'x', version: 1, fields: [], indexes: [] }
const views = { checkpoint: async () => undefined }

await t.test('who waits for a position is told once it is reached, or that it was not in time', async (t) => {
  const { reached, stand } = tended(systemClock, views, () => true)
  const waiting = reached(view, 5n, 60_000)
  stand(4n)
  stand(5n)
  t.equal(await waiting, true)
  t.equal(await reached(view, 5n, 0), true)
  t.equal(await reached(view, 6n, 1), false)
})

await t.test('what came while the process stood still is seen, whatever is over meanwhile', async (t) => {
  const { reached, stand } = tended(systemClock, views, () => true)
  const waiting = reached(view, 5n, 20)
  // The time to look again and all the time there was are over at once, and only then comes what had arrived.
  for (const end = performance.now() + 120; performance.now() < end; );
  setTimeout(() => setImmediate(() => stand(5n)), 0)
  t.equal(await waiting, true)
})
