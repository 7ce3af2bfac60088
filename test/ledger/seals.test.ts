import t, { type Test } from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import { draws } from '../draws.ts'
import { advanceUntil, Crash, ledgerWorld, sealedWorld, unchanged, type World } from './ledger-world.ts'
import { memoryLedgerStore } from './memory-store.ts'

await t.test('a crash before or after each call of the store never leads to two roots for one size', async (t) => {
  const { clock, engine, grow, texts, verify, errors } = await ledgerWorld()
  for (let at = 0; at < 40; at++) {
    let calls = 0
    const dying = engine(() => {
      if (calls++ >= at) throw new Crash('crash')
    })
    await grow(1 + (at % 3))
    await dying.begin()
    await clock.advance(1_000)
    await dying.close()
    await grow(1)
    const next = engine()
    await next.begin()
    await clock.advance(1_000)
    await advanceUntil({ clock }, () => next.state() !== 'building')
    t.equal(next.state(), 'ok', `after a crash at call ${at}`)
    t.ok(next.served()!.size >= Number(texts.at(-1)!.split('\n')[1]), 'no smaller size after a larger one')
    await next.close()
    t.equal(next.served()!.size, next.size())
  }
  t.ok(errors.every((error) => error instanceof Crash))
  t.ok(verify(t) >= 40)
})

await t.test('instances that seal at once with random delays and crashes sign one root for one size', async (t) => {
  const draw = draws(t)
  for (let round = 0; round < 12; round++) {
    const { clock, engine, grow, verify, errors, content } = await ledgerWorld()
    const make = () => {
      let life = draw(10, 120)
      return engine(
        async () => {
          if (--life < 0) throw new Crash('crash')
          await clock.sleep(draw(0, 300))
        },
        { isShared: true },
      )
    }
    let engines = [make(), make(), make()]
    const begun = engines.map((each) => each.begin())
    let sealed = 0
    for (let step = 0; step < 30; step++) {
      await grow(draw(0, 20))
      for (const each of engines) each.sealNow().catch(() => undefined)
      await clock.advance(draw(100, 2_500))
      t.ok(content.sealed!.size >= sealed, 'no smaller size after a larger one')
      sealed = content.sealed!.size
      if (draw(0, 5) > 0) continue
      engines = [...engines.slice(1), make()]
      begun.push(engines.at(-1)!.begin())
    }
    t.ok(errors.every((error) => error instanceof Crash))
    verify(t)
    t.ok(sealed > 0)
  }
})

await t.test('a seal on request right after the start waits for the tree, at most two seconds', async (t) => {
  const world = await sealedWorld()
  await world.grow(5)
  const engine = world.engine()
  await engine.begin()
  t.equal(engine.state(), 'building')
  t.equal(await engine.sealNow(), 306)
  t.equal(engine.served()?.size, 306)
  await engine.close()
  const small = await sealedWorld(40)
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const head = async () => {
    await held
    return small.log.head()
  }
  const late = small.engine(undefined, { log: { ...small.log, head } })
  await late.begin()
  const sealed = late.sealNow()
  await small.clock.advance(2_000)
  t.equal(await sealed, undefined, 'the tree is still built')
  release()
  await late.close()
})

const blocked = async (t: Test, world: World, why: RegExp, over = {}) => {
  const before = new Set(world.texts).size
  const engine = world.engine(() => undefined, over)
  await engine.begin()
  await world.clock.advance(1_000)
  await advanceUntil(world, () => engine.state() !== 'building')
  t.match(world.states.at(-1), why)
  const attempts = world.states.length
  await world.clock.advance(118_000)
  t.equal(world.states.length, attempts + 1, 'once a minute')
  t.match(why.source, engine.state())
  await engine.close()
  t.equal(new Set(world.texts).size, before, 'nothing was signed')
}

await t.test('a log or record that does not fit stops the seals and names the reason', async (t) => {
  const base = await sealedWorld()
  t.equal(base.content.sealed!.size, 301)
  await t.test('shorter log', async (t) => {
    const world = await sealedWorld()
    ;(world.memory.all as unknown[]).length = 200
    await blocked(t, world, /diverged: the log has 200 events, but 301 are sealed/)
  })
  await t.test('another event under the last tile', async (t) => {
    const world = await sealedWorld()
    const all = world.memory.all as Stored[]
    all[100] = { ...all[100]!, data: '"forged"' }
    await blocked(t, world, /diverged: the first 301 events .* event 100 is the first with another kept hash/)
  })
  await t.test('sealed record of another ledger, a copy, and none', async (t) => {
    for (const [change, why] of [
      [{ ledger: '76543210' }, /suspended: the log names ledger/],
      [{ copy: true }, /suspended: the sealed record is a copy/],
    ] as const) {
      const world = await sealedWorld()
      world.content.sealed = { ...world.content.sealed!, ...change }
      await blocked(t, world, why)
    }
    const world = await sealedWorld()
    world.content.sealed = undefined
    await blocked(t, world, /suspended: there is no sealed record/)
  })
  await t.test('no key, another key, and a key that is unreadable', async (t) => {
    for (const [read, why] of [
      [async () => undefined, /suspended: there is no signing key/],
      [async () => newSigningKey(), /suspended: the signing key is not the one/],
      [() => Promise.reject(new Error('not a key')), /suspended: not a key/],
    ] as const) {
      const world = await sealedWorld()
      const store = memoryLedgerStore(world.content)
      await blocked(t, world, why, { ports: { store, keys: { ...unchanged, read, open: read } } })
    }
  })
  await t.test('missing, forged and exchanged tiles change no root', async (t) => {
    const world = await sealedWorld()
    const { tiles } = world.content
    const tile = tiles.get('0/0')!
    for (const change of [
      undefined,
      { ...tile, hashes: Buffer.alloc(8192) },
      { ...tile, n: 1 },
      { ...tile, level: 1 },
    ]) {
      if (change) tiles.set('0/0', change)
      else tiles.clear()
      await world.grow(1)
      const engine = world.engine()
      await engine.begin()
      await world.clock.advance(1_000)
      await advanceUntil(world, () => engine.state() !== 'building')
      t.equal(engine.state(), 'ok')
      await engine.close()
    }
    t.equal(world.verify(t), 6)
    t.same(world.errors, [])
  })
})

await t.test('a ledger whose store hangs at a shutdown makes no call after two seconds', async (t) => {
  const world = await ledgerWorld()
  const calls: string[] = []
  const hanging = { is: false, release: (): void => undefined }
  const ledger = world.engine((moment) => {
    calls.push(moment)
    return hanging.is ? new Promise<void>((release) => (hanging.release = release)) : undefined
  })
  await ledger.begin()
  await world.clock.advance(1_000)
  await world.grow(10)
  hanging.is = true
  const ended = ledger.close()
  await world.clock.advance(1_999)
  const before = calls.length
  await world.clock.advance(1)
  await ended
  hanging.is = false
  hanging.release()
  await world.clock.advance(10_000)
  t.match(calls.slice(before), [/^after /], 'only the call in progress ends')
  t.equal(calls.length, before + 1)
  t.strictSame(world.errors, [])
})
