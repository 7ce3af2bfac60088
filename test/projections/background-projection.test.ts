import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { backgroundProjection } from '../../src/projections/engine/background-projection.ts'
import type { LogProjection } from '../../src/projections/history/log-marks.ts'
import type { Views } from '../../src/projections/views.ts'
import { portOf } from '../adapters/embedded/store.ts'
import { memoryLog } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

const BLOCK = 4
const views = await (await portOf(t, 'views')).open()
t.teardown(views.close)

let names = 97
/** A log projection with a row for each event. */
const numbered = (): LogProjection & { readonly block: number } => ({
  block: BLOCK,
  name: `numbers_${String.fromCodePoint(names++)}`,
  version: 1,
  fields: [],
  indexes: [],
  rowsOf: async (_, from, page) =>
    page.map(({ id, position }, n) => ({
      key: String(from.events + n),
      revision: 0n,
      position,
      changes: 0n,
      doc: { event: id },
    })),
})

const world = (over: Partial<Views> = {}) => {
  const [clock, log, model] = [virtualClock(), memoryLog({ pageSize: 3 }), numbered()]
  const errors: unknown[] = []
  /** `looks`: number of looks at the number of events. */
  const state = { writes: true, looks: 0 }
  let revision = -1n
  const append = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const event = { id: randomUUID(), type: 'FlagUpdated', time: clock.now().toISOString(), data: '{}', meta: '{}' }
      await log.append('flag-a+b', [event], revision < 0n ? 'none' : revision)
      revision++
    }
  }
  const begin = () => {
    const indexing = backgroundProjection({
      clock,
      log,
      views: { ...views, ...over },
      model,
      events: () => {
        state.looks++
        return log.all.length
      },
      writes: () => state.writes,
      onError: (error) => errors.push(error),
    })
    indexing.start()
    return indexing
  }
  const events = async () => (await views.checkpoint(model))?.events
  const rows = async () => {
    const found: string[] = []
    for await (const page of views.scan<{ readonly event: string }>(model))
      for (const { key, doc } of page) found[Number(key)] = doc!.event
    return found
  }
  return { clock, log, model, state, errors, append, begin, events, rows }
}
const ids = (all: readonly Stored[], count: number) => all.slice(0, count).map(({ id }) => id)

await t.test('a background projection looks for new events once a second', async (t) => {
  const { clock, state, begin } = world()
  const indexing = begin()
  const rests = () => eventually(() => clock.waiting().length > 0, 'a pause')
  await rests()
  t.equal(state.looks, 1)
  await clock.advance(999)
  t.equal(state.looks, 1)
  await clock.advance(1)
  t.equal(state.looks, 2)
  await indexing.close()
})

await t.test('a background projection reads its checkpoint for a full block, or every 30 seconds', async (t) => {
  let reads = 0
  const checkpoint: Views['checkpoint'] = (view) => {
    reads++
    return views.checkpoint(view)
  }
  const { clock, append, begin, events } = world({ checkpoint })
  await append(5)
  const indexing = begin()
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      await eventually(() => clock.waiting().length > 0, 'a pause')
      await clock.advance(1_000)
    }
  }
  await eventually(async () => (await events()) === 4, 'the block is written')
  await pass(2)
  reads = 0
  await pass(25)
  t.equal(reads, 0)
  await append(3)
  await pass(2)
  t.equal(await events(), 8, 'a full block is written at once')
  reads = 0
  await pass(31)
  t.equal(reads, 1)
  await indexing.close()
})

await t.test('a background projection follows the log in whole blocks of events', async (t) => {
  const { clock, log, errors, append, begin, events, rows } = world()
  const first = begin()
  await clock.advance(1_000)
  t.equal(await events(), undefined, 'an empty log has no checkpoint')
  await append(3)
  await clock.advance(1_000)
  await eventually(async () => (await events()) === 0, 'the checkpoint begins')
  await append(7)
  await clock.advance(1_000)
  await eventually(async () => (await events()) === 8, 'two blocks are written')
  await first.close()
  await append(20)
  const second = begin()
  await eventually(async () => (await events()) === 28, 'a later run continues')
  await second.close()
  t.strictSame(await rows(), ids(log.all, 28))
  t.strictSame(errors, [])
})

await t.test('a background projection writes only while its instance has the lease', async (t) => {
  const { clock, state, append, begin, events } = world()
  await append(5)
  state.writes = false
  const indexing = begin()
  await clock.advance(5_000)
  t.equal(await events(), undefined)
  state.writes = true
  await clock.advance(1_000)
  await eventually(async () => (await events()) === 4, 'the block is written')
  await indexing.close()
})

await t.test('a background projection retries after a fault', async (t) => {
  let faults = 2
  const { clock, log, errors, append, begin, events, rows } = world({
    put: async (...given) => {
      if (faults-- > 0) throw new Error('no disk')
      return views.put(...given)
    },
  })
  await append(9)
  const indexing = begin()
  await eventually(async () => {
    await clock.advance(1_000)
    return (await events()) === 8
  }, 'the blocks are written')
  await indexing.close()
  t.equal(errors.length, 2)
  t.strictSame(await rows(), ids(log.all, 8))
})

await t.test('two instances that write a background projection write the same rows', async (t) => {
  const { clock, log, errors, append, begin, events, rows } = world()
  await append(2)
  const both = [begin(), begin()]
  for (let n = 0; n < 6; n++) {
    await append(5)
    await clock.advance(1_000)
  }
  await eventually(async () => {
    await clock.advance(1_000)
    return (await events()) === 32
  }, 'all blocks are written')
  for (const one of both) await one.close()
  t.strictSame(await rows(), ids(log.all, 32))
  t.strictSame(errors, [])
})

await t.test('a background projection does not write rows from another log', async (t) => {
  const { clock, model, errors, append, begin, events } = world()
  await append(4)
  const marked = { position: 1n, event: randomUUID(), log: randomUUID(), events: 1, rows: 0, changes: 0 }
  t.ok(await views.mark(model, undefined, marked))
  const indexing = begin()
  await clock.advance(1_000)
  await eventually(() => errors.length > 0, 'the fault is reported')
  await indexing.close()
  t.match(String(errors[0]), /the log contains a different event/)
  t.equal(await events(), 1)
})
