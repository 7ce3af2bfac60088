import { createPublicKey, type KeyObject } from 'node:crypto'
import t, { type Test } from 'tap'
import { changeSigningKey } from '../../src/app/ledger/operations.ts'
import { ledgerOfLog } from '../../src/ledger/ledger-of-log.ts'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import { tileMacs } from '../../src/ledger/tiles/tile-macs.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { parseCheckpoint } from '../../src/verifier/note/checkpoint.ts'
import { verifierKey, verifyNote } from '../../src/verifier/note/signatures.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { Crash, ledgerWorld, ORIGIN } from '../ledger/ledger-world.ts'
import { memoryKeys } from '../ledger/memory-keys.ts'
import { memoryLedgerStore } from '../ledger/memory-store.ts'
import { rootOf } from '../ledger/reference.ts'

/** Pepper of a world, with the key of its MACs. */
const PEPPER = { kid: 'kid', key: Buffer.alloc(32, 1) }

/** A sealed ledger whose key an operator changes on the stores. */
const keyWorld = async () => {
  const world = await ledgerWorld()
  const { log, clock, content } = world
  const old = world.key
  const stored: { key: KeyObject | undefined; next: KeyObject | undefined } = { key: old, next: undefined }
  const portsWith = (interrupt: (moment: string) => void) => ({
    store: memoryLedgerStore(content, interrupt),
    keys: memoryKeys(stored, interrupt),
  })
  const engine = async () => {
    const made = world.engine(undefined, { ports: portsWith(() => undefined) })
    await made.begin()
    await clock.advance(1_000)
    return made
  }
  let changes = 0
  await world.grow(5)
  await (await engine()).close()
  return {
    ...world,
    old,
    stored,
    startEngine: engine,
    portsWith,
    change: (compromised: boolean, interrupt: (moment: string) => void = () => undefined) =>
      changeSigningKey(
        { log, alone: true, pepper: PEPPER, ledger: async () => portsWith(interrupt) },
        clock,
        compromised,
        async (data) => {
          interrupt('before append')
          const event = { id: `change ${changes++}`, type: 'SigningKeyChanged', time: '2026-01-01T00:00:01.000Z' }
          let revision = -1n
          for await (const page of log.read('history-ledger')) revision = page.at(-1)!.revision
          await log.append('history-ledger', [{ ...event, data: JSON.stringify(data), meta: '{}' }], revision)
          interrupt('after append')
        },
      ),
  }
}
type World = Awaited<ReturnType<typeof keyWorld>>

await t.test('the record of a change keeps the leaves after the last full tile', async (t) => {
  const world = await keyWorld()
  await world.change(false)
  const { size } = world.content.sealed!
  t.equal(tileMacs(PEPPER.key).tailOf(world.content.sealed!).length, size)
})

/** Verifies that the change is complete, and that the first checkpoint that covers it has the due signatures. */
const verifyChanged = async (t: Test, world: World, compromised: boolean, name: string) => {
  const { log, memory, content, stored, old } = world
  const { keys } = (await ledgerOfLog(log))!
  t.match(keys, [{ compromised }, { compromised: false }], name)
  t.equal(keys.length, 2, name)
  const [before, after] = keys.map(({ vkey }) => parseVkey(vkey)!)
  t.same(verifierKey(ORIGIN, createPublicKey(stored.key!)).id, after!.id, `${name}: the new key is in use`)
  t.not(stored.key, old)
  t.ok(!stored.next || stored.next === stored.key, `${name}: the old key is gone`)
  const index = memory.all.findIndex(({ type }) => type === 'SigningKeyChanged')
  const kept = [...content.kept.values()].filter(({ size }) => size > index).toSorted((a, b) => a.size - b.size)
  const { text, size, root, keep } = kept[0]!
  const signed = verifyNote(parseCheckpoint(text)!.note, [before!, after!]) as readonly { readonly key: object }[]
  t.same(new Set(signed.map(({ key }) => key)), new Set(compromised ? [after] : [before, after]), name)
  t.equal(keep, true, `${name}: the checkpoint is kept for ever`)
  t.equal(root, base64Of(rootOf(memory.all.slice(0, size).map((record) => leafOf(entryOf(record))))), name)
}

await t.test('a crash at each call of a change of the key is continued by the next call or start', async (t) => {
  for (const compromised of [false, true])
    for (const by of ['call', 'start'])
      for (let at = 0, isOver = false; !isOver; at++) {
        const world = await keyWorld()
        let calls = 0
        let last = ''
        const name = () => `compromised ${compromised}, next ${by}, crash after ${last}`
        const outcome = await world
          .change(compromised, (moment) => {
            if (calls++ < at) return void (last = moment)
            throw new Crash(moment)
          })
          .catch((error: unknown) => error)
        isOver = calls <= at
        if (isOver) t.match(outcome, { isContinued: false }, String(outcome))
        else t.type(outcome, Error, name())
        const isRecorded = world.memory.all.some(({ type }) => type === 'SigningKeyChanged')
        if (by === 'start' || isOver) {
          const engine = await world.startEngine()
          await world.grow(2)
          await engine.sealNow()
          t.equal(engine.state(), 'ok', name())
          await engine.close()
          t.strictSame(world.errors, [])
          if (!isRecorded) t.equal(world.stored.key, world.old, name())
        }
        if (by === 'call' && !isOver && world.stored.key === world.old)
          t.match(await world.change(compromised), { isContinued: isRecorded }, name())
        if (isRecorded || by === 'call') await verifyChanged(t, world, compromised, name())
        if (isOver) t.ok(at > 20, 'a change makes calls')
      }
})

await t.test('a running instance completes a change of the key that it reads in the log', async (t) => {
  for (const compromised of [false, true]) {
    const world = await keyWorld()
    const engine = await world.startEngine()
    await t.rejects(
      world.change(compromised, (moment) => {
        if (moment === 'after append') throw new Crash(moment)
      }),
      /after append/,
    )
    await world.clock.advance(11_000)
    await verifyChanged(t, world, compromised, 'by the instance')
    t.strictSame(world.states, [])
    await engine.close()
  }
})

await t.test('a checkpoint of the old key over the event of the change is signed again', async (t) => {
  const world = await keyWorld()
  const { stored, clock, content } = world
  await t.rejects(
    world.change(false, (moment) => {
      if (moment === 'after append') throw new Crash(moment)
    }),
    /after append/,
  )
  // An instance that has not read the event yet seals it.
  const { next } = stored
  stored.next = undefined
  const of = (await ledgerOfLog(world.log))!
  const read = world.log.read
  const late = world.engine(undefined, {
    ports: world.portsWith(() => undefined),
    log: {
      ...world.log,
      read: async function* (stream) {
        for await (const page of read(stream)) yield page.slice(0, 1)
      },
    },
  })
  await late.begin()
  await clock.advance(1_000)
  await late.close()
  t.equal(content.sealed!.size, world.memory.all.length)
  stored.next = next
  t.equal(of.keys.length, 2)
  t.match(await world.change(false), { isContinued: true })
  await verifyChanged(t, world, false, 'signed again')
})

await t.test('a change is refused while nothing can be signed, and names the next step', async (t) => {
  const world = await keyWorld()
  const { stored, content, old } = world
  stored.key = undefined
  await t.rejects(world.change(false), /no signing key/)
  stored.key = newSigningKey()
  await t.rejects(world.change(false), /suspended: the signing key is not the one/)
  stored.key = old
  content.scrub = { at: '2026-01-01T00:00:00.000Z', through: 6, ok: false, firstBad: { index: 1, kind: 'changed' } }
  await t.rejects(world.change(true), /diverged: event 1 of the log is changed/)
  content.scrub = undefined
  t.strictSame([stored.key, stored.next], [old, undefined])
  await t.rejects(
    world.change(true, (moment) => {
      if (moment === 'after append') throw new Crash(moment)
    }),
    /after append/,
  )
  await t.rejects(world.change(false), /one with --compromised/)
  t.match(await world.change(true), { isContinued: true })
  t.match(await world.change(false), { isContinued: false }, 'a further change')
  t.equal((await ledgerOfLog(world.log))!.keys.length, 3)
})
