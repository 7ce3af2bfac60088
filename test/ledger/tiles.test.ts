import { createHash } from 'node:crypto'
import t from 'tap'
import type { Stored } from '../../src/events/log.ts'
import { entriesBundle, entriesOf, recordsFrom } from '../../src/ledger/tiles/full-tiles.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import {
  hasTile,
  indexPath,
  nodeInTile,
  parseTilePath,
  TILE_WIDTH,
  tileOfNode,
  tilePath,
  tileWidth,
} from '../../src/verifier/tiles.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { rootOf } from './reference.ts'
import { base64, patternLeaves, patternRecord, vectors } from './vectors.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Yields the tiles of hashes that a tree of `size` leaves has and a tree of `from` leaves does not have. */
const tilesOf = function* (
  size: number,
  from = 0,
): Generator<{ readonly level: number; readonly index: number; readonly width: number }> {
  for (let level = 0; size >= TILE_WIDTH ** level; level++) {
    const first = Math.floor(Math.floor(from / TILE_WIDTH ** level) / TILE_WIDTH)
    for (let index = first; ; index++) {
      const width = tileWidth(size, { level, index })
      if (width === 0) break
      if (width > tileWidth(from, { level, index })) yield { level, index, width }
    }
  }
}

/** Returns the entries of a bundle; undefined if it does not end with an entry or has more than 256. */
const parseEntriesBundle = (bundle: Uint8Array): readonly string[] | undefined => {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  const entries: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 <= bytes.length ? at + 2 + bytes.readUInt16BE(at) : Number.POSITIVE_INFINITY
    if (end > bytes.length || entries.length === TILE_WIDTH) return undefined
    entries.push(bytes.toString('utf8', at + 2, end))
    at = end
  }
  return entries
}

/** Bytes of every tile of the tree over leaves, by path. */
const tilesOver = (leaves: readonly Hash[]) => {
  const hashes = new Map<number, Hash[]>()
  const range = compactRange(undefined, (level, _, hash) => {
    if (level % 8 === 0) hashes.set(level / 8, [...(hashes.get(level / 8) ?? []), hash])
  })
  if (leaves.length > 2000) throw new Error('the collection of hashes is quadratic')
  for (const leaf of leaves) range.append(leaf)
  return new Map(
    [...tilesOf(leaves.length)].map((tile) => [
      tilePath(tile),
      Buffer.concat(hashes.get(tile.level)!.slice(256 * tile.index, 256 * tile.index + tile.width)),
    ]),
  )
}

await t.test('the index paths of the published examples are equal in both directions', (t) => {
  for (const { n, path } of vectors.paths) {
    t.equal(indexPath(n), path)
    t.strictSame(parseTilePath(`tile/0/${path}`), { level: 0, index: n, width: 256 })
  }
  for (let power = 0; power < 15; power++)
    for (const index of [10 ** power - 1, 10 ** power, 10 ** power + 1])
      for (const level of [0, 9, 10, 63, 'entries'] as const)
        for (const width of [1, 255, 256])
          t.strictSame(parseTilePath(tilePath({ level, index, width })), { level, index, width })
  t.end()
})

await t.test('the tiles and bundles of the published examples are equal byte for byte', (t) => {
  const small = tilesOver(vectors.events.map(({ leafHash }) => Buffer.from(leafHash, 'base64')))
  const entries = vectors.events.map(({ entry }) => entry)
  const bundle = entriesBundle(entries)
  t.strictSame(parseEntriesBundle(bundle), entries)
  for (const { path, base64: body, bytes, sha256: digest } of vectors.resources) {
    if (path === 'checkpoint') continue
    const tile = parseTilePath(path)!
    const resource = tile.level === 'entries' ? bundle : small.get(path)!
    t.equal(tile.width, 11)
    if (body !== undefined) t.equal(base64(resource), body)
    if (bytes !== undefined) t.equal(resource.length, bytes)
    if (digest !== undefined) t.equal(sha256(resource), digest)
  }
  for (const size of [513, 1000]) {
    const tiles = tilesOver(patternLeaves(size))
    for (const { path, bytes, sha256: digest } of vectors.pattern.tiles.filter(({ path }) => tiles.has(path))) {
      t.equal(tiles.get(path)!.length, bytes)
      t.equal(sha256(tiles.get(path)!), digest, path)
    }
  }
  t.end()
})

await t.test('every other path is refused', (t) => {
  const wrong = [
    '',
    'tile',
    'tile/0',
    'tile/0/',
    'tile/0/0',
    'tile/0/01',
    'tile/0/0000',
    'tile/0/1000',
    'tile/0/x000/001',
    'tile/0/x01/001',
    'tile/0/X001/001',
    'tile/0/x001/x001',
    'tile/0/001/001',
    'tile/0/x999/x999/x999/x999/x999/999',
    'tile/0/x001/x001/x001/x001/x001/x001/001',
    'tile/64/000',
    'tile/00/000',
    'tile/-1/000',
    'tile/1.0/000',
    'tile/data/000',
    'tile/Entries/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/000.p/1/',
    'tile/0/000.p/',
    'tile/0/000.p',
    'tile/0/000/',
    '/tile/0/000',
    'tile/0/000\n',
    'tile/0/٠٠٠',
    'tile//0/000',
  ]
  for (const path of wrong) t.equal(parseTilePath(path), undefined, path)
  t.end()
})

await t.test('a tree has exactly the tiles of its size, and its growth the tiles that differ', (t) => {
  const naive = (size: number) => {
    const paths: string[] = []
    for (let level = 0, hashes = size; hashes > 0; level++, hashes = Math.floor(hashes / 256))
      for (let at = 0; at < hashes; at += 256)
        paths.push(tilePath({ level, index: at / 256, width: Math.min(256, hashes - at) }))
    return paths
  }
  for (const size of [0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 70_000]) {
    t.strictSame([...tilesOf(size)].map(tilePath), naive(size), `${size}`)
    for (const from of [0, 1, 256, 300, 65_536]) {
      if (from > size) continue
      const before = new Set(naive(from))
      t.strictSame(
        [...tilesOf(size, from)].map(tilePath),
        naive(size).filter((path) => !before.has(path)),
        `${from} to ${size}`,
      )
    }
    for (const tile of tilesOf(size)) {
      t.ok(hasTile(size, tile) && hasTile(size, { ...tile, width: 1 }))
      t.equal(tileWidth(size, tile), tile.width)
      if (tile.width < 256) t.notOk(hasTile(size, { ...tile, width: tile.width + 1 }))
    }
    t.notOk(hasTile(size, { level: 0, index: Math.ceil(size / 256), width: 1 }))
    t.notOk(hasTile(size, { level: 63, index: 0, width: 1 }))
    t.equal(hasTile(size, { level: 'entries', index: 0, width: 256 }), size >= 256)
  }
  t.end()
})

await t.test('a tile determines every complete subtree of its levels', (t) => {
  const leaves = patternLeaves(700)
  const tiles = tilesOver(leaves)
  for (let level = 0; 2 ** level <= leaves.length; level++)
    for (let index = 0; (index + 1) * 2 ** level <= leaves.length; index++) {
      const place = tileOfNode({ level, index })
      const path = tilePath({ ...place, width: tileWidth(leaves.length, place) })
      const expected = rootOf(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))
      t.equal(base64(nodeInTile(tiles.get(path)!, place)!), base64(expected), `level ${level}, index ${index}`)
    }
  t.equal(nodeInTile(new Uint8Array(31), tileOfNode({ level: 0, index: 0 })), undefined)
  t.equal(nodeInTile(new Uint8Array(63), tileOfNode({ level: 1, index: 0 })), undefined)
  t.end()
})

await t.test('a bundle over a log that ends early has the entries before its end', async (t) => {
  const events = Array.from({ length: 5 }, (_, n) => patternRecord(n) as Stored)
  const pages = async function* () {
    yield events.slice(0, 3)
    yield events.slice(3)
  }
  const source = { log: { readAll: pages, head: async () => 5n }, positionOf: async () => 0n }
  for (const [count, length] of [
    [2, 2],
    [4, 4],
    [256, 5],
  ] as const) {
    const found = await entriesOf(await recordsFrom(source, 0, count))
    t.strictSame(parseEntriesBundle(entriesBundle(found)), events.slice(0, length).map(entryOf))
  }
})

await t.test('a bundle that is cut or too long is refused', (t) => {
  const bundle = entriesBundle(['a', '', 'ö'])
  t.equal(Buffer.from(bundle).toString('hex'), '00016100000002c3b6')
  for (const length of [1, 2, 4, 6, 7, 8]) t.equal(parseEntriesBundle(bundle.subarray(0, length)), undefined)
  t.strictSame(parseEntriesBundle(bundle.subarray(0, 5)), ['a', ''])
  t.strictSame(parseEntriesBundle(new Uint8Array()), [])
  t.equal(parseEntriesBundle(new Uint8Array(2 * 257)), undefined)
  t.throws(() => entriesBundle(['x'.repeat(65_536)]), /65536 bytes/)
  t.end()
})
