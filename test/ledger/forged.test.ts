import t, { type Test } from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { newSigningKey, type SealedRecord, sealedRecordOf } from '../../src/ledger/ledger-store.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { advanceUntil, ORIGIN, sealedWorld, type World } from './ledger-world.ts'
import { memoryLedgerStore } from './memory-store.ts'
import { rootOf } from './reference.ts'

const started = async (world: World, over = {}) => {
  const engine = world.engine(undefined, over)
  await engine.begin()
  await advanceUntil(world, () => engine.state() !== 'building')
  return engine
}
const rootNow = (all: readonly Stored[]) => base64Of(rootOf(all.map((event) => leafOf(entryOf(event)))))
const withOtherSignature = (text: string) => text.replace(/ (\S+)\n$/, (_, line: string) => ` ${flipped(line)}\n`)
const flipped = (signature: string) => {
  const bytes = Buffer.from(signature, 'base64')
  bytes[40]! ^= 1
  return bytes.toString('base64')
}

/** Tampers with a world of 303 sealed events and checkpoints of 301, 302 and 303, and expects that nothing is signed. */
const insistOnNothingSigned = async (
  t: Test,
  name: string,
  tamper: (world: World, all: Stored[]) => SealedRecord | undefined,
  why: RegExp,
) => {
  const world = await sealedWorld()
  const before = await started(world)
  for (const size of [302, 303]) {
    await world.grow(1)
    await advanceUntil(world, () => before.served()?.size === size)
  }
  await before.close()
  const forged = tamper(world, world.memory.all as Stored[])
  world.content.tiles.clear()
  if (forged) world.content.sealed = forged
  // The record of the store and the copy next to the key are the same.
  const store = memoryLedgerStore(world.content)
  const keys = { read: async () => world.key, open: async () => world.key, next: async () => undefined }
  const ports = {
    store: { ...store, sealed: async () => ({ stored: world.content.sealed!, nextToKey: world.content.sealed! }) },
    keys: { ...keys, prepare: async () => undefined, promote: async () => undefined },
  }
  const [record, kept] = [world.content.sealed, [...world.content.kept.keys()]]
  const engine = await started(world, { ports })
  t.match(world.states.at(-1), why, name)
  await world.grow(5)
  await world.clock.advance(70_000)
  await engine.sealNow()
  await engine.close()
  t.match(why.source, engine.state(), name)
  t.equal(world.content.sealed, record, `${name}: the record stays`)
  t.strictSame([...world.content.kept.keys()], kept, `${name}: nothing is signed`)
}

await t.test('no forged record is continued without the signing key', async (t) => {
  const changed = (world: World, change: Partial<SealedRecord>): SealedRecord => ({
    ...world.content.sealed!,
    ...change,
  })
  /** Takes an event out, and puts the new size and root into the record and its text, with the old signature. */
  const takenOut = (world: World, all: Stored[]) => {
    const positions = all.map(({ position }) => position)
    all.splice(150, 1)
    for (const [n, event] of all.entries()) all[n] = { ...event, position: positions[n]! }
    const [size, root] = [all.length, rootNow(all)]
    const text = world.content.sealed!.text!.replace(/^(.*)\n.*\n.*\n/, `$1\n${size}\n${root}\n`)
    return changed(world, { size, root, text })
  }
  await insistOnNothingSigned(t, 'an event taken out', takenOut, /diverged: the log has 302 events, but 303 are sealed/)
  await insistOnNothingSigned(
    t,
    'an event taken out, and no kept checkpoint',
    (world, all) => {
      world.content.kept.clear()
      return takenOut(world, all)
    },
    /suspended: the sealed record of 302 events is forged or damaged: wrong signature/,
  )
  await insistOnNothingSigned(
    t,
    'the signature is overwritten',
    (world) => changed(world, { text: withOtherSignature(world.content.sealed!.text!) }),
    /suspended: the sealed record of 303 events is forged or damaged: wrong signature/,
  )
  await insistOnNothingSigned(
    t,
    'the log cut to a kept checkpoint',
    (world, all) => {
      all.length = 301
      const { size, root, text, sealedAt } = world.content.kept.get(301)!
      return changed(world, { size, root, text, sealedAt })
    },
    /diverged: the log has 301 events, but 303 are sealed/,
  )
  await insistOnNothingSigned(
    t,
    'a log cut to a kept checkpoint, and forged rows above the larger ones',
    (world, all) => {
      all.length = 301
      const { kept } = world.content
      for (let size = 400; size < 417; size++) kept.set(size, { ...kept.get(303)!, size })
      const { size, root, text, sealedAt } = kept.get(301)!
      return changed(world, { size, root, text, sealedAt })
    },
    /diverged: the log has 301 events, but 303 are sealed/,
  )
  await insistOnNothingSigned(
    t,
    'the size and root of a record are not those of its text',
    (world) => changed(world, { size: 302, root: world.content.kept.get(302)!.root }),
    /suspended: .* its text has another size or root/,
  )
  const unsigned = (world: World, size: number, root: string, more = {}): SealedRecord => {
    const { text: _, ...record } = world.content.sealed!
    return { ...record, size, root, ...more }
  }
  for (const mac of [{}, { mac: Buffer.alloc(32).toString('base64') }, { mac: 'short' }])
    await insistOnNothingSigned(
      t,
      'an intended pair of somebody else',
      (world, all) => {
        world.content.kept.clear()
        all[100] = { ...all[100]!, data: '"forged"' }
        return unsigned(world, 303, rootNow(all), mac)
      },
      /suspended: .* no signature/,
    )
  await insistOnNothingSigned(
    t,
    'an empty tree without a signature',
    (world, all) => {
      world.content.kept.clear()
      all[100] = { ...all[100]!, data: '"forged"' }
      return { ...world.first, text: '' }
    },
    /suspended: the sealed record of 0 events is forged or damaged: malformed checkpoint/,
  )
})

await t.test('a record without a MAC is refused once another instance did not sign it', async (t) => {
  const world = await sealedWorld()
  const whole = world.content.sealed!
  const { text: _, ...intended } = whole
  world.content.sealed = intended
  const engine = world.engine(undefined, { isShared: true })
  await engine.begin()
  await world.clock.advance(0)
  t.equal(engine.state(), 'building', 'an instance of an earlier version may be about to sign it')
  await advanceUntil(world, () => engine.state() !== 'building')
  t.equal(engine.state(), 'suspended')
  await engine.close()
  const other = world.engine(undefined, { isShared: true })
  await other.begin()
  await world.clock.advance(0)
  world.content.sealed = whole
  await advanceUntil(world, () => other.state() !== 'building')
  t.equal(other.state(), 'ok')
  await other.close()
})

await t.test('a forged row of a kept checkpoint is not served, and delays no seal', async (t) => {
  const world = await sealedWorld()
  const { kept } = world.content
  const own = kept.get(301)!
  const foreign = signNote(checkpointBody({ origin: ORIGIN, size: 50_000, root: Buffer.alloc(32, 1) }), [
    signerOf(ORIGIN, newSigningKey()),
  ])
  kept.set(50_000, { ...own, size: 50_000, root: Buffer.alloc(32, 1).toString('base64'), text: foreign })
  kept.set(40_000, { ...own, size: 40_000 })
  kept.set(200, { ...own, size: 200, text: 'x' })
  const engine = await started(world)
  t.equal(engine.state(), 'ok')
  t.equal(engine.served()?.size, 301)
  t.strictSame(new Set(world.forged), new Set([50_000, 40_000, 200]))
  const all = await engine.checkpoints(Number.MAX_SAFE_INTEGER, 9)
  t.strictSame(
    (await engine.signed(all)).map(({ size }) => size),
    [301],
  )
  t.equal(await engine.checkpoint(50_000), undefined)
  t.equal(await engine.checkpoint(40_000), undefined)
  t.match(await engine.checkpoint(301), { size: 301 })
  await world.grow(1)
  await advanceUntil(world, () => engine.served()?.size === 302)
  await engine.close()
})

await t.test('only the newest kept checkpoints are read at a start', async (t) => {
  const world = await sealedWorld()
  const own = world.content.kept.get(301)!
  const store = memoryLedgerStore(world.content)
  const limits: number[] = []
  let [isStarting, reads] = [true, 0]
  const ports = {
    keys: {
      read: async () => world.key,
      open: async () => world.key,
      next: async () => undefined,
      prepare: async () => undefined,
      promote: async () => undefined,
    },
    store: {
      ...store,
      checkpoints: async (below: number, limit: number) => {
        if (isStarting && limit < 1_000) limits.push(limit)
        reads++
        return store.checkpoints(below, limit)
      },
    },
  }
  for (let size = 1; size < 301; size++) world.content.kept.set(size, { ...own, size })
  const engine = await started(world, { ports })
  isStarting = false
  t.strictSame(new Set(limits), new Set([8]))
  t.ok(reads < 10)
  await engine.close()
})

await t.test('a sealed record with a member of another type is no record', async (t) => {
  const witnessed = { size: 3, root: 'r', text: 't', witness: 'w' }
  const record = { ledger: 'l', origin: 'o', size: 3, root: 'r', sealedAt: 's' }
  const whole = { ...record, text: 't', mac: 'm', tail: 'x', keep: true, witnessed }
  for (const each of [record, whole]) t.strictSame(sealedRecordOf(JSON.stringify(each), 'x'), each)
  for (const wrong of [
    { text: 1 },
    { mac: 7 },
    { mac: null },
    { tail: 5 },
    { tail: ['x'] },
    { witnessed: 'w' },
    { witnessed: null },
    { witnessed: { ...witnessed, size: 'x' } },
    { witnessed: { ...witnessed, witness: undefined } },
  ])
    t.throws(() => sealedRecordOf(JSON.stringify({ ...whole, ...wrong }), 'x'), SyntaxError, JSON.stringify(wrong))
})
