import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { advanceUntil, sealedWorld, type World } from './ledger-world.ts'
import { memoryLedgerStore } from './memory-store.ts'

const started = async (world: World, over = {}) => {
  const engine = world.engine(undefined, over)
  await engine.begin()
  await advanceUntil(world, () => engine.state() !== 'building')
  return engine
}

/** A sealed log of 301, 302 … events with a checkpoint of each size. */
const severalSeals = async (seals: number) => {
  const world = await sealedWorld()
  const engine = await started(world)
  for (let n = 0; n < seals; n++) {
    await world.grow(1)
    await advanceUntil(world, () => engine.served()?.size === world.size())
  }
  await engine.close()
  return world
}

await t.test(
  'an older log under a newer sealed record has only the events of its own checkpoints sealed',
  async (t) => {
    const world = await severalSeals(20)
    t.equal(world.content.sealed!.size, 321)
    ;(world.memory.all as Stored[]).length = 310
    await world.grow(3)
    const engine = await started(world)
    t.equal(engine.state(), 'diverged')
    t.strictSame([engine.covers(309), engine.covers(310), engine.covers(312)], [true, false, false])
    await world.grow(100)
    await engine.sealNow()
    await world.clock.advance(2_000)
    t.equal(engine.state(), 'diverged')
    t.strictSame([engine.covers(309), engine.covers(310), engine.covers(320)], [true, false, false], 'above the size')
    t.equal(engine.served()!.size, 321, 'the signed checkpoint is served')
    t.equal(engine.extended(), undefined)
    await engine.close()
  },
)

await t.test('no event is sealed before the log is compared with the sealed record', async (t) => {
  const world = await sealedWorld()
  let release: () => void = () => undefined
  const compared = new Promise<void>((resolve) => (release = resolve))
  // The beginning reads the records for the tree.
  let reads = 0
  const engine = world.engine((moment) => (moment === 'before sealed' && reads++ > 0 ? compared : undefined))
  await engine.begin()
  await world.clock.advance(5_000)
  t.strictSame([engine.state(), engine.served()?.size], ['building', 301])
  t.strictSame([engine.covers(0), engine.extended()], [false, undefined])
  release()
  await advanceUntil(world, () => engine.state() === 'ok')
  t.strictSame([engine.covers(300), engine.extended()?.size], [true, 301])
  await engine.close()
})

await t.test('an instance that is not sure of an older log has no state until it has compared it', async (t) => {
  const world = await sealedWorld()
  const all = world.memory.all as Stored[]
  const gone = all.splice(300)
  let isSure = false
  const engine = world.engine(undefined, { isSure: () => isSure })
  await engine.begin()
  await world.clock.advance(5_000)
  t.strictSame([engine.state(), engine.covers(0), engine.extended()], ['building', false, undefined])
  all.push(...gone)
  isSure = true
  await advanceUntil(world, () => engine.state() === 'ok')
  t.ok(engine.covers(300))
  await engine.close()
})

await t.test('events from the first difference of a scrub on are not sealed', async (t) => {
  const world = await sealedWorld()
  const engine = await started(world)
  world.content.scrub = {
    at: '2026-01-01T00:00:00.000Z',
    through: 301,
    ok: false,
    firstBad: { index: 7, kind: 'changed' },
  }
  await advanceUntil(world, () => engine.state() === 'diverged')
  t.strictSame([engine.covers(6), engine.covers(7), engine.extended()], [true, false, undefined])
  world.content.scrub = { at: '2026-01-01T00:00:00.000Z', through: 301, ok: false }
  await world.clock.advance(121_000)
  t.notOk(engine.covers(0), 'the first difference is unknown')
  await engine.close()
})

await t.test('without a sealed record the kept checkpoints of the log prove its events', async (t) => {
  const world = await severalSeals(3)
  world.content.sealed = undefined
  const engine = await started(world)
  t.equal(engine.state(), 'suspended')
  t.strictSame([engine.covers(303), engine.extended()?.size], [true, 304])
  await engine.close()
  const all = world.memory.all as Stored[]
  all[300] = { ...all[300]!, data: '"forged"' }
  const other = await started(world)
  t.equal(other.state(), 'suspended')
  t.strictSame([other.covers(0), other.extended()], [false, undefined], 'no checkpoint has the root of this log')
  await other.close()
})

await t.test('an instance without new events finds the difference of another one within a minute', async (t) => {
  const world = await sealedWorld()
  const engine = await started(world, { isShared: true })
  const store = memoryLedgerStore(world.content)
  const { stored } = await store.sealed()
  const witnessed = { size: 400, root: world.first.root, text: 'signed', witness: 'w.example' }
  await store.advance(stored!, { ...stored!, witnessed })
  t.equal(engine.state(), 'ok')
  await world.clock.advance(60_000)
  await advanceUntil(world, () => engine.state() === 'diverged')
  t.equal(engine.extended(), undefined)
  await engine.close()
})
