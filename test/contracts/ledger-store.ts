import type { Test } from 'tap'
import { sealedNow } from '../../src/http/history/newest-checkpoint.ts'
import type { KeptCheckpoint, LedgerStore, SealedRecord, StoredTile } from '../../src/ledger/ledger-store.ts'
import { advanceUntil, ledgerWorld, unchanged } from '../ledger/ledger-world.ts'

const bytes = (length: number, value: number) => new Uint8Array(length).fill(value)
const tileOf = (level: number, n: number, value = n % 256): StoredTile => ({
  level,
  n,
  hashes: bytes(8192, value),
  root: bytes(32, value),
  position: BigInt(n) * 1000n + 2n ** 40n,
  event: `event ${n}`,
  mac: bytes(32, 255 - value),
})
const record = (size: number, text?: string): SealedRecord => ({
  ledger: '01234567',
  origin: 'example.org/01234567',
  size,
  root: `root ${size}`,
  sealedAt: '2026-01-01T00:00:00.000Z',
  ...(text !== undefined && { text }),
})
const kept = (size: number, keep = false): KeptCheckpoint => {
  const { root, sealedAt } = record(size)
  return { size, root, text: `text ${size}\n`, sealedAt, keep }
}
const rootOf = (tile: StoredTile) => {
  const { hashes: _, ...root } = tile
  return root
}

/** Contract of LedgerStore. `open` reopens one store. */
export const ledgerStoreContract = (t: Test, open: () => Promise<LedgerStore>): void => {
  void t.test('tiles are returned as written, in order, also after a restart', async (t) => {
    const store = await open()
    t.equal(await store.lastTile(0), undefined)
    t.equal(await store.tile(0, 0), undefined)
    await store.putTiles([])
    const tiles = Array.from({ length: 300 }, (_, n) => tileOf(0, n))
    await store.putTiles(tiles.slice(100))
    await store.putTiles([...tiles.slice(0, 100), tileOf(1, 0), tileOf(10, 4)])
    await store.close()
    const again = await open()
    t.same(await again.tile(0, 299), tiles[299])
    t.same(await again.tileRoots(0, 7), tiles.slice(7, 263).map(rootOf))
    t.same(await again.tileRoots(0, 256), tiles.slice(256).map(rootOf))
    t.same(await again.tileRoots(1, 0), [rootOf(tileOf(1, 0))])
    t.same([await again.lastTile(0), await again.lastTile(1), await again.lastTile(10)], [299, 0, 4])
    await again.putTiles([tileOf(0, 299, 9)])
    t.same(await again.tile(0, 299), tileOf(0, 299, 9), 'a tile is replaced')
    await again.dropTiles()
    t.equal(await again.lastTile(0), undefined)
    await again.close()
  })

  void t.test('the sealed record advances only from exactly the record that the caller has read', async (t) => {
    const store = await open()
    t.same(await store.sealed(), {})
    t.equal(await store.advance(record(0, ''), record(5)), false, 'there is none')
    await store.begin(record(0, ''))
    await store.begin(record(9, 'other'))
    t.same((await store.sealed()).stored, record(0, ''), 'the first remains')
    const outcomes = await Promise.all([5, 6, 7].map((size) => store.advance(record(0, ''), record(size))))
    t.equal(outcomes.filter(Boolean).length, 1, 'one of several at once')
    const { stored } = await store.sealed()
    t.equal(stored!.text, undefined, 'intended')
    t.equal(await store.advance({ ...stored!, ledger: '76543210' }, record(8)), false)
    t.equal(await store.advance({ ...stored!, text: '' }, record(8)), false)
    t.equal(await store.advance(record(4), record(8)), false)
    const whole = { ...stored!, text: 'signed\n', keep: true }
    t.equal(await store.advance(stored!, whole), true)
    t.equal(await store.advance(stored!, record(8)), false, 'a text is there')
    await store.close()
    const again = await open()
    t.same((await again.sealed()).stored, whole)
    const witnessed = { size: 4, root: 'other', text: 'shown', witness: 'w.example' }
    const tail = Buffer.alloc(8_192, 7).toString('base64')
    t.equal(await again.advance(whole, { ...record(3, 'copied'), mac: 'bWFj', copy: true, witnessed, tail }), true)
    t.same((await again.sealed()).stored, { ...record(3, 'copied'), mac: 'bWFj', copy: true, witnessed, tail })
    await again.close()
  })

  void t.test('checkpoints are kept by size, and those that are to be kept are not dropped', async (t) => {
    const store = await open()
    t.same(await store.checkpoints(Number.MAX_SAFE_INTEGER, 5), [])
    const sizes = [9, 10, 100, 2 ** 31, 2 ** 40]
    for (const size of sizes) await store.keep(kept(size, size === 10))
    t.same(
      (await store.checkpoints(Number.MAX_SAFE_INTEGER, 2)).map(({ size }) => size),
      [2 ** 40, 2 ** 31],
    )
    t.same(await store.checkpoints(100, 9), [kept(10, true), kept(9)])
    t.same(await store.checkpoint(2 ** 40), kept(2 ** 40))
    t.equal(await store.checkpoint(11), undefined)
    const cosigned = { ...kept(9), text: `${kept(9).text}cosigned\n` }
    await store.keep(cosigned)
    t.same(await store.checkpoint(9), cosigned)
    await store.keep(kept(9, true))
    t.same(await store.checkpoint(9), { ...cosigned, keep: true }, 'a text with further lines remains')
    await store.keep({ ...kept(9), text: 'resigned\n' })
    t.same(await store.checkpoint(9), { ...kept(9), text: 'resigned\n' }, 'another text replaces it, shorter or not')
    await store.dropCheckpoints([])
    await store.dropCheckpoints([9, 10, 11, 100])
    t.same(
      (await store.checkpoints(Number.MAX_SAFE_INTEGER, 9)).map(({ size }) => size),
      [2 ** 40, 2 ** 31, 10],
    )
    t.equal(await store.scrubbed(), undefined)
    const scrub = { at: '2026-01-01T00:00:00.000Z', through: 7, ok: false, firstBad: { index: 3, kind: 'changed' } }
    await store.writeScrub({ ...scrub, ok: true })
    await store.writeScrub(scrub)
    t.same(await store.scrubbed(), scrub)
    await store.putTiles([tileOf(0, 0), tileOf(1, 0)])
    await store.startOver(record(4, 'other'))
    t.same(
      [await store.scrubbed(), await store.lastTile(0), await store.lastTile(1)],
      [undefined, undefined, undefined],
    )
    t.same(await store.checkpoints(Number.MAX_SAFE_INTEGER, 9), [])
    t.same((await store.sealed()).stored, record(4, 'other'))
    await store.close()
  })

  void t.test('a seal on request covers the head at the request while a writer appends at every step', async (t) => {
    const world = await ledgerWorld()
    const opened = await open()
    await opened.startOver(world.first)
    const writing = <T extends object>(port: T): T =>
      new Proxy(port, {
        get:
          (target, name) =>
          async (...args: readonly unknown[]) => {
            await world.grow(1)
            const value: unknown = await Reflect.apply(Reflect.get(target, name) as () => unknown, target, args)
            await world.grow(1)
            return value
          },
      })
    const { readAll, read, head } = world.log
    const log = { read, readAll, head: writing({ head }).head }
    const keys = { ...unchanged, read: async () => world.key, open: async () => world.key }
    const engine = world.engine(undefined, { log, ports: { store: writing(opened), keys } })
    await engine.begin()
    await advanceUntil(world, () => engine.state() !== 'building')
    for (let round = 0; round < 5; round++) {
      const before = world.size()
      const answers = await Promise.allSettled(
        [1, 2, 3].map(async () => {
          let isOver = false
          const answer = sealedNow({ ledger: engine, log } as never).finally(() => (isOver = true))
          answer.catch(() => undefined)
          await advanceUntil(world, () => isOver)
          return (await answer).size
        }),
      )
      for (const answer of answers)
        t.ok(answer.status === 'fulfilled' && answer.value >= before, `${before}: ${JSON.stringify(answer)}`)
    }
    t.same(world.errors, [])
    await engine.close()
    await opened.close()
  })
}
