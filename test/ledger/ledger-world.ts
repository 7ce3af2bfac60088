import { createPublicKey } from 'node:crypto'
import type { Test } from 'tap'
import { ledgerOf } from '../../src/ledger/ledger.ts'
import type { SealedRecord } from '../../src/ledger/ledger-store.ts'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { EMPTY_ROOT, leafOf } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote, verifierKey, verifyCheckpoint } from '../../src/verifier/note/signatures.ts'
import { vkeyOf } from '../../src/verifier/note/vkey.ts'
import { memoryStore } from '../memory-log.ts'
import { virtualClock } from '../virtual-clock.ts'
import { memoryContent, memoryLedgerStore } from './memory-store.ts'
import { rootOf } from './reference.ts'
import { patternRecord } from './vectors.ts'

const ID = '0badcafe'
export const ORIGIN = `example.org/${ID}`
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

/** No test changes the key. */
export const unchanged = { next: async () => undefined, prepare: async () => undefined, promote: async () => undefined }

export class Crash extends Error {}

/** A log with a ledger, its store, and engines on both. All texts of the store and of the engines are collected. */
export const ledgerWorld = async () => {
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
    text: signNote(checkpointBody({ origin: ORIGIN, size: 0, root: EMPTY_ROOT }), [signerOf(ORIGIN, key)]),
    sealedAt: clock.now().toISOString(),
  }
  content.sealed = first
  const data = JSON.stringify({ ledger: ID, leaf: 'rollcall.entry/v1', origin: ORIGIN, vkey: vkeyOf(verifier) })
  const started = { id: 'started', type: 'LedgerStarted', time: '2026-01-01T00:00:00.000Z', data, meta: '{}' }
  await log.append('history-ledger', [started], 'none')
  const texts: string[] = []
  const errors: unknown[] = []
  const states: string[] = []
  const damages: unknown[] = []
  const forged: number[] = []
  let events = 0
  return {
    clock,
    memory,
    key,
    verifier,
    content,
    first,
    texts,
    errors,
    states,
    damages,
    forged,
    log,
    /** Number of events in the log. */
    size: () => memory.all.length,
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
        onForged: ({ size }) => forged.push(size),
        onDamage: (damage) => damages.push(damage),
        witnesses: { list: [], send: () => Promise.reject(new Error('none')), onOutcome: () => undefined },
        onError: (error) => errors.push(error),
        ...over,
      }),
    /** Every text is signed, has the root of the log at its size, and sizes never decrease in the store. */
    verify: (t: Test) => {
      const leaves = memory.all.map((record) => leafOf(entryOf(record)))
      const bodies = new Map<string, number>()
      for (const text of new Set(texts)) {
        const checkpoint = verifyCheckpoint(text, [verifier])
        if (typeof checkpoint === 'string') throw new Error(checkpoint)
        t.equal(base64(checkpoint.root), base64(rootOf(leaves.slice(0, checkpoint.size))), `size ${checkpoint.size}`)
        bodies.set(text.slice(0, text.indexOf('\n\n')), checkpoint.size)
      }
      t.equal(new Set(bodies.values()).size, bodies.size, 'one body for one size')
      return bodies.size
    },
  }
}
export type World = Awaited<ReturnType<typeof ledgerWorld>>

/** Advances the clock until a condition is true. The work of a second may take more turns than one advance waits for. */
export const advanceUntil = async ({ clock }: Pick<World, 'clock'>, condition: () => boolean): Promise<void> => {
  while (!condition()) await clock.advance(1_000)
}

/** A world with a sealed ledger of 301 events, or of another number. */
export const sealedWorld = async (events = 301) => {
  const world = await ledgerWorld()
  await world.grow(events - 1)
  const engine = world.engine()
  await engine.begin()
  await advanceUntil(world, () => world.content.sealed?.size === events)
  await engine.close()
  return world
}
