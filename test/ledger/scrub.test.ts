import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { advanceUntil, type ledgerWorld, sealedWorld, type World } from './ledger-world.ts'

const ignore = () => undefined
type Change = (all: Stored[], world: World) => void

/** Runs a scrub to its end on the virtual clock. */
const scrub = async (world: World, engine: ReturnType<World['engine']>): Promise<void> => {
  let isOver = false
  const done = engine.scrub(new AbortController().signal, ignore).finally(() => (isOver = true))
  done.catch(ignore)
  await advanceUntil(world, () => isOver)
  return done
}

const startedEngine = async (world: World, over = {}) => {
  const engine = world.engine(undefined, over)
  await engine.begin()
  await world.clock.advance(1_000)
  await advanceUntil(world, () => engine.state() !== 'building')
  return engine
}
const changed = (all: Stored[], index: number) => void (all[index] = { ...all[index]!, data: '"forged"' })

await t.test('a scrub names the first changed event of a running service, and stops the seals', async (t) => {
  const cases: readonly (readonly [name: string, change: Change, firstBad: object])[] = [
    ['under a kept tile', (all) => changed(all, 100), { index: 100, kind: 'changed' }],
    ['after the last kept tile', (all) => changed(all, 290), { index: 290, kind: 'changed' }],
    ['the first of two', (all) => [270, 30].forEach((n) => changed(all, n)), { index: 30, kind: 'changed' }],
    ['removed', (all) => void all.splice(40, 1), { index: 40, kind: 'removed' }],
    ['removed at the end', (all) => void all.splice(295, 1), { index: 295, kind: 'removed' }],
    ['inserted', (all) => void all.splice(50, 0, { ...all[0]!, id: 'inserted' }), { index: 50, kind: 'inserted' }],
    ['truncated', (all) => void all.splice(299), { index: 299, kind: 'truncated' }],
    ['truncated under the tile', (all) => void all.splice(120), { index: 120, kind: 'truncated' }],
  ]
  for (const [name, change, firstBad] of cases) {
    const world = await sealedWorld()
    const engine = await startedEngine(world)
    t.equal(engine.state(), 'ok')
    const positions = world.memory.all.map(({ position }) => position)
    change(world.memory.all as Stored[], world)
    // The log keeps the positions of an event that was not changed, so that it reaches the same head.
    for (const [n, event] of world.memory.all.entries())
      (world.memory.all as Stored[])[n] = { ...event, position: positions[n] ?? event.position }
    await scrub(world, engine)
    t.match((await engine.status()).scrub, { ok: false, firstBad }, name)
    t.match(world.damages, [firstBad], name)
    const sealed = world.texts.length
    await world.grow(3)
    await advanceUntil(world, () => engine.state() === 'diverged')
    await world.clock.advance(20_000)
    t.equal(engine.state(), 'diverged', name)
    t.match(world.states, [/diverged/], name)
    t.equal(new Set(world.texts).size, new Set(world.texts.slice(0, sealed)).size, 'nothing is signed')
    await engine.close()
  }
})

await t.test('a difference counts until an operator resumes the ledger, on each instance', async (t) => {
  const world = await sealedWorld()
  const [engine, other] = [await startedEngine(world), await startedEngine(world)]
  const all = world.memory.all as Stored[]
  const original = all[7]!
  changed(all, 7)
  await scrub(world, engine)
  await world.clock.advance(61_000)
  await advanceUntil(world, () => other.state() === 'diverged')
  t.same([engine.state(), other.state()], ['diverged', 'diverged'])
  t.equal(other.scrubbed()?.firstBad?.index, 7)
  await scrub(world, engine)
  t.equal(world.damages.length, 2, 'every run reports it')
  all[7] = original
  await scrub(world, engine)
  t.equal(world.damages.length, 2)
  t.match(world.content.scrub, { ok: false, firstBad: { index: 7 } })
  world.content.scrub = { at: '2026-01-02T00:00:00.000Z', through: 301, ok: true }
  await world.clock.advance(121_000)
  await advanceUntil(world, () => engine.state() === 'ok' && other.state() === 'ok')
  t.same([engine.state(), other.state()], ['ok', 'ok'])
  await scrub(world, engine)
  t.match(world.content.scrub, { ok: true, through: 301 })
  await Promise.all([engine.close(), other.close()])
})

await t.test('a scrub compares the root where no kept hash is sound', async (t) => {
  const world = await sealedWorld()
  const engine = await startedEngine(world)
  world.content.tiles.clear()
  changed(world.memory.all as Stored[], 100)
  await scrub(world, engine)
  t.match(world.damages, [{ index: undefined, why: /first 301 events .* not the sealed ones/ }])
  t.strictSame((await engine.status()).scrub?.firstBad, undefined)
  await advanceUntil(world, () => engine.state() === 'diverged')
  await engine.close()
})

await t.test('an instance that is not sure of the log stores no difference', async (t) => {
  const world = await sealedWorld()
  let isSure = true
  const engine = await startedEngine(world, { isSure: () => isSure })
  changed(world.memory.all as Stored[], 100)
  isSure = false
  await t.rejects(scrub(world, engine), /not sure/)
  t.strictSame([world.content.scrub, world.damages], [undefined, []])
  await engine.close()
})

await t.test('an instance that is not sure of the log signs nothing, and serves its last checkpoint', async (t) => {
  const world = await sealedWorld()
  let isSure = true
  const engine = await startedEngine(world, { isSure: () => isSure })
  const before = new Set(world.texts)
  const served = engine.served()
  isSure = false
  await world.grow(10)
  await world.clock.advance(60_000)
  t.strictSame([engine.served(), new Set(world.texts)], [served, before])
  t.strictSame([engine.state(), world.states], ['ok', []], 'a doubt is no difference')
  isSure = true
  await advanceUntil(world, () => engine.served()!.size > served!.size)
  await engine.close()
})

await t.test('a start compares the events under the last kept tile', async (t) => {
  for (const [index, firstBad] of [
    [255, { index: 255, kind: 'changed' }],
    [0, { index: 0, kind: 'changed' }],
  ] as const) {
    const world = await sealedWorld()
    changed(world.memory.all as Stored[], index)
    const engine = await startedEngine(world)
    await advanceUntil(world, () => engine.state() === 'diverged')
    t.match(world.content.scrub, { ok: false, firstBad })
    t.match(world.damages, [firstBad])
    t.equal(engine.state(), 'diverged')
    await engine.close()
  }
})

await t.test('a start with an older tile of another log names the first event, and keeps the tiles', async (t) => {
  const cases: readonly (readonly [name: string, change: Change, firstBad: object])[] = [
    ['removed', (all) => void all.splice(14, 1), { index: 14, kind: 'removed' }],
    ['two removed', (all) => [300, 14].forEach((n) => all.splice(n, 1)), { index: 14, kind: 'removed' }],
    [
      'removed, and another added at the end',
      (all) => void all.push(...all.splice(14, 1)),
      { index: 14, kind: 'moved' },
    ],
    ['inserted', (all) => void all.splice(50, 0, { ...all[0]!, id: 'inserted' }), { index: 50, kind: 'inserted' }],
    ['changed with the last tile', (all) => [14, 500].forEach((n) => changed(all, n)), { index: 14, kind: 'changed' }],
  ]
  for (const [name, change, firstBad] of cases) {
    const world = await sealedWorld(540)
    const [original, tiles] = [[...world.memory.all], [...world.content.tiles]]
    const last = original.at(-1)!.position
    change(world.memory.all as Stored[], world)
    for (const [n, event] of world.memory.all.entries())
      (world.memory.all as Stored[])[n] = { ...event, position: original[n]?.position ?? last + BigInt(n) }
    for (const start of ['first', 'second']) {
      const engine = await startedEngine(world)
      await advanceUntil(world, () => engine.state() === 'diverged')
      t.match(world.content.scrub, { ok: false, firstBad }, `${name}, ${start} start`)
      await world.grow(300)
      await world.clock.advance(1_000)
      await scrub(world, engine)
      t.match(world.content.scrub, { ok: false, firstBad }, `${name}, ${start} scrub`)
      await engine.close()
    }
    t.match(
      world.damages,
      Array.from({ length: 4 }, () => firstBad),
      name,
    )
    t.strictSame([...world.content.tiles], tiles, 'the tiles show the difference')
    ;(world.memory.all as Stored[]).splice(0, Number.POSITIVE_INFINITY, ...original)
    world.content.scrub = undefined
    const engine = await startedEngine(world)
    await scrub(world, engine)
    t.match(world.content.scrub, { ok: true }, 'after the log is restored')
    t.equal(engine.state(), 'ok')
    await engine.close()
  }
})

await t.test('a start names the first event that differs after the last full tile', async (t) => {
  const cases: readonly (readonly [name: string, size: number, change: Change, firstBad: object])[] = [
    ['changed', 40, (all) => changed(all, 14), { index: 14, kind: 'changed' }],
    ['removed', 40, (all) => void all.splice(14, 1), { index: 14, kind: 'removed' }],
    ['inserted', 40, (all) => void all.splice(14, 0, { ...all[0]!, id: 'x' }), { index: 14, kind: 'inserted' }],
    ['the last', 40, (all) => changed(all, 39), { index: 39, kind: 'changed' }],
    ['after a tile', 301, (all) => changed(all, 290), { index: 290, kind: 'changed' }],
    ['removed after a tile', 301, (all) => void all.splice(256, 1), { index: 256, kind: 'removed' }],
  ]
  for (const [name, size, change, firstBad] of cases) {
    const world = await sealedWorld(size)
    const { sealed } = world.content
    const positions = world.memory.all.map(({ position }) => position)
    change(world.memory.all as Stored[], world)
    for (const [n, event] of world.memory.all.entries())
      (world.memory.all as Stored[])[n] = { ...event, position: positions[n] ?? positions.at(-1)! + 1n }
    for (const start of ['first', 'second']) {
      const engine = await startedEngine(world)
      await advanceUntil(world, () => engine.state() === 'diverged')
      t.match(world.content.scrub, { ok: false, firstBad }, `${name}, ${start} start`)
      await world.grow(600)
      await world.clock.advance(1_000)
      await scrub(world, engine)
      t.match(world.content.scrub, { ok: false, firstBad }, `${name}, ${start} scrub`)
      await engine.close()
    }
    t.equal(world.content.sealed, sealed, 'the record shows the difference')
  }
})

await t.test('a tail that is missing, or not as it was written, names no event', async (t) => {
  for (const change of [
    () => undefined,
    (tail: string) => `AAAA${tail.slice(4)}`,
    (tail: string) => tail.slice(0, -44),
  ]) {
    const world = await sealedWorld(40)
    const { tail, ...record } = world.content.sealed!
    const other = change(tail!)
    world.content.sealed = { ...record, ...(other !== undefined && { tail: other }) }
    changed(world.memory.all as Stored[], 14)
    const engine = await startedEngine(world)
    await advanceUntil(world, () => engine.state() === 'diverged')
    t.match(world.states.at(-1), /the first 40 events of the log are not the sealed ones$/)
    t.equal(world.content.scrub, undefined)
    await scrub(world, engine)
    t.strictSame(world.content.scrub?.firstBad, undefined)
    await engine.close()
  }
})

await t.test('tiles of events that are not sealed are replaced after a start on another log', async (t) => {
  const world = await sealedWorld(200)
  const { sealed, kept } = world.content
  const engine = world.engine(undefined, { interval: 1e9, events: 1e9 })
  await engine.begin()
  await world.grow(400)
  await advanceUntil(world, () => engine.size() === 600)
  await engine.close()
  world.content.sealed = sealed
  for (const size of kept.keys()) if (size > 200) kept.delete(size)
  const before = world.content.tiles.get('0/1')
  changed(world.memory.all as Stored[], 300)
  const next = await startedEngine(world)
  t.equal(next.state(), 'ok')
  t.strictSame([world.content.scrub, world.damages], [undefined, []])
  t.not(world.content.tiles.get('0/1'), before)
  await scrub(world, next)
  t.match(world.content.scrub, { ok: true, through: 600 })
  await next.close()
  const again = await startedEngine(world)
  t.equal(again.state(), 'ok', 'a start continues from the new tiles')
  await again.close()
})

await t.test('a scrub reads at most 5,000 events a second, and ends promptly at an abort', async (t) => {
  const world = await sealedWorld()
  await world.grow(12_000)
  const reads: { readonly at: number; readonly events: number }[] = []
  let counts = false
  const log: Awaited<ReturnType<typeof ledgerWorld>>['log'] = {
    ...world.log,
    readAll: async function* (...range) {
      for await (const page of world.log.readAll(...range)) {
        if (counts) reads.push({ at: world.clock.monotonic(), events: page.length })
        yield page
      }
    },
  }
  const engine = await startedEngine(world, { log })
  await world.clock.advance(11_000)
  counts = true
  const progress: number[] = []
  const [began, stop] = [world.clock.monotonic(), new AbortController()]
  const whole = engine.scrub(stop.signal, ({ done }) => progress.push(done))
  await world.clock.advance(2_000)
  t.not(progress.at(-1), 12_301)
  await world.clock.advance(1_000)
  await whole
  t.equal(progress.at(-1), 12_301)
  t.ok(reads.at(-1)!.at - began >= 2_400)
  for (const { at } of reads) {
    const second = reads.filter((each) => each.at >= at && each.at < at + 1_000)
    t.ok(second.reduce((sum, { events }) => sum + events, 0) <= 5_000)
  }
  const aborted = engine.scrub(stop.signal, ignore)
  await world.clock.advance(500)
  const before = reads.length
  stop.abort()
  await t.rejects(aborted, { name: 'AbortError' })
  t.equal(reads.length, before)
  t.match(world.content.scrub, { ok: true, through: 12_301 })
  await engine.close()
})
