import { createPublicKey } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { verifyCheckpoint } from '../../src/ledger/checkpoint.ts'
import { entryOf, leafOf } from '../../src/ledger/entry.ts'
import { EMPTY_ROOT } from '../../src/ledger/hashes.ts'
import { ledgerOf } from '../../src/ledger/ledger.ts'
import type { SealedRecord } from '../../src/ledger/ledger-store.ts'
import { newSigningKey } from '../../src/ledger/signing-keys.ts'
import { verifierKey, vkeyOf } from '../../src/ledger/vkey.ts'
import { draws } from '../draws.ts'
import { memoryStore } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'
import { memoryContent, memoryLedgerStore } from './memory-store.ts'
import { rootOf } from './reference.ts'
import { patternRecord } from './vectors.ts'

const ID = '0badcafe'
const ORIGIN = `example.org/${ID}`
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** No test changes the key. */
const unchanged = { next: async () => undefined, prepare: async () => undefined, promote: async () => undefined }

class Crash extends Error {}

/** A log with a ledger, its store, and engines on both. All texts of the store and of the engines are collected. */
const ledgerWorld = async () => {
  const clock = virtualClock()
  const memory = memoryStore({ pageSize: 100 })
  const log = memory.open()
  const key = newSigningKey()
  const verifier = verifierKey(ORIGIN, createPublicKey(key))
  const content = memoryContent()
  const first: SealedRecord = {
    ledger: ID,
    origin: ORIGIN,
    size: 0,
    root: base64(EMPTY_ROOT),
    text: '',
    sealedAt: clock.now().toISOString(),
  }
  content.sealed = first
  const data = JSON.stringify({ ledger: ID, leaf: 'rollcall.entry/v1', origin: ORIGIN, vkey: vkeyOf(verifier) })
  const started = { id: 'started', type: 'LedgerStarted', time: '2026-01-01T00:00:00.000Z', data, meta: '{}' }
  await log.append('history-ledger', [started], 'none')
  const texts: string[] = []
  const errors: unknown[] = []
  const states: string[] = []
  let events = 0
  return {
    clock,
    memory,
    content,
    first,
    texts,
    errors,
    states,
    log,
    grow: async (count: number) => {
      for (let n = 0; n < count; n++) {
        const { stream: _, revision: __, ...event } = patternRecord(events++)
        await log.append(`token-${event.id}`, [event], 'none')
      }
    },
    engine: (
      interrupt: (moment: string) => Promise<void> | void = () => undefined,
      over: Partial<Parameters<typeof ledgerOf>[0]> = {},
    ) =>
      ledgerOf({
        clock,
        log,
        ports: {
          store: memoryLedgerStore(content, async (moment) => {
            const text = content.sealed?.text
            if (text) texts.push(text)
            await interrupt(moment)
          }),
          keys: { ...unchanged, read: async () => key, open: async () => key },
        },
        key: Buffer.alloc(32, 1),
        isShared: false,
        writes: () => true,
        isSure: () => true,
        positionOf: async (index) => (index < 0 ? 0n : memory.all[index]!.position),
        followed: () => memory.all.at(-1)?.position ?? 0n,
        start: async () => undefined,
        interval: 10_000,
        events: 1_000,
        onCheckpoint: ({ text }) => texts.push(text),
        onObstacle: ({ state, why }) => states.push(`${state}: ${why}`),
        onError: (error) => errors.push(error),
        ...over,
      }),
    /** Every text is signed, has the root of the log at its size, and sizes never decrease in the store. */
    verify: (t: Test) => {
      const leaves = memory.all.map((record) => leafOf(entryOf(record)))
      let sizes = 0
      for (const text of new Set(texts)) {
        const checkpoint = verifyCheckpoint(text, [verifier])
        if (typeof checkpoint === 'string') throw new Error(checkpoint)
        t.equal(base64(checkpoint.root), base64(rootOf(leaves.slice(0, checkpoint.size))), `size ${checkpoint.size}`)
        sizes++
      }
      t.equal(new Set([...new Set(texts)].map((text) => text.split('\n')[1])).size, sizes, 'one text for one size')
      return sizes
    },
  }
}
type World = Awaited<ReturnType<typeof ledgerWorld>>

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

const blocked = async (t: Test, world: World, why: RegExp, over = {}) => {
  const before = new Set(world.texts).size
  const engine = world.engine(() => undefined, over)
  await engine.begin()
  await world.clock.advance(1_000)
  t.match(world.states.at(-1), why)
  const attempts = world.states.length
  await world.clock.advance(118_000)
  t.equal(world.states.length, attempts + 1, 'once a minute')
  t.match(why.source, engine.state())
  await engine.close()
  t.equal(new Set(world.texts).size, before, 'nothing was signed')
}

/** A world with a sealed ledger of 301 events. */
const sealedWorld = async () => {
  const world = await ledgerWorld()
  await world.grow(300)
  const engine = world.engine()
  await engine.begin()
  await world.clock.advance(1_000)
  await engine.close()
  return world
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
      t.equal(engine.state(), 'ok')
      await engine.close()
    }
    t.equal(world.verify(t), 5)
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
