import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { build } from 'vite'
import { entriesBundle } from '../../src/ledger/tiles/full-tiles.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import type { parseCheckpoint } from '../../src/verifier/note/checkpoint.ts'
import type { VerifierKey } from '../../src/verifier/note/vkey.ts'
import {
  consistencyProof,
  type ReadNodes,
  rootAt,
  type Tree,
  type verifyConsistency,
} from '../../src/verifier/proof/proofs.ts'
import { type entriesIn, parseTilePath, TILE_WIDTH, type tilePath, tileWidth } from '../../src/verifier/tiles.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { patternRecord, vectors } from '../ledger/vectors.ts'
import { root } from '../root.ts'

type Hash = Uint8Array
type Signed = NonNullable<ReturnType<typeof parseCheckpoint>>
/** The functions that are tested as the UI contains them, with the hashes and the base64 of the browser. */
type Integrity = {
  readonly verifyConsistency: typeof verifyConsistency
  readonly tilePath: typeof tilePath
  readonly entriesIn: typeof entriesIn
  readonly parseCheckpoint: typeof parseCheckpoint
  readonly ledgerKeyOf: (vkey: string) => VerifierKey | undefined
  readonly signatureOf: (checkpoint: Signed, key: VerifierKey) => Promise<string>
  readonly recompute: (options: {
    readonly signed: readonly Tree[]
    readonly read: (path: string) => Promise<Uint8Array>
    readonly onProgress: (done: number) => void
  }) => Promise<{ readonly cause: string; readonly index: number } | undefined>
}

const folder = await mkdtemp(join(tmpdir(), 'rollcall-integrity-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const MODULES: Readonly<Record<string, string>> = {
  proofs: 'src/verifier/proof/proofs.ts',
  tiles: 'src/verifier/tiles.ts',
  checkpoint: 'src/verifier/note/checkpoint.ts',
  signature: 'ui/src/integrity/signature.ts',
  recompute: 'ui/src/integrity/recompute.ts',
}
await build({
  configFile: false,
  logLevel: 'warn',
  resolve: { alias: [{ find: /^\.{1,2}\/platform\.ts$/, replacement: join(root, 'ui/src/integrity/platform.ts') }] },
  build: {
    outDir: folder,
    minify: false,
    lib: {
      entry: Object.fromEntries(Object.entries(MODULES).map(([name, path]) => [name, join(root, path)])),
      formats: ['es'],
    },
    rolldownOptions: { output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' } },
  },
})
const modules = await Promise.all(
  Object.keys(MODULES).map((name) => import(pathToFileURL(join(folder, `${name}.mjs`)).href)),
)
const ui = Object.assign({}, ...modules) as Integrity

const sizes = [1, 2, 255, 256, 257, 511, 512, 700]
const SIZE = 700
const records = Array.from({ length: SIZE }, (_, n) => patternRecord(n))
const entries = records.map(entryOf)
/** Hashes of the complete subtrees over the leaves. */
const nodes = new Map<string, Hash>()
const range = compactRange(undefined, (level, index, hash) => nodes.set(`${level}/${index}`, hash))
for (const entry of entries) range.append(leafOf(entry))
const read: ReadNodes = async (wanted) => wanted.map(({ level, index }) => nodes.get(`${level}/${index}`)!)
const treeOf = async (size: number): Promise<Tree> => ({ size, root: await rootAt(size, read) })

/** Serves the sealed leaves and the given entries as tiles, like a service whose log was changed under its ledger. */
const serving = (shown: readonly string[], requested: string[] = []) => {
  const answer = async (path: string): Promise<Uint8Array> => {
    requested.push(path)
    const tile = parseTilePath(path)!
    const begin = tile.index * TILE_WIDTH
    if (tile.level === 'entries') return entriesBundle(shown.slice(begin, begin + tile.width))
    return Buffer.concat(Array.from({ length: tile.width }, (_, n) => nodes.get(`0/${begin + n}`)!))
  }
  return answer
}

await t.test('paths, bundles, checkpoints and keys fit the published examples', async (t) => {
  for (const { n, path } of vectors.paths)
    t.equal(ui.tilePath({ level: 0, index: n, width: TILE_WIDTH }), `tile/0/${path}`)
  const bundle = entriesBundle(entries.slice(0, 3))
  const texts = (bytes: Uint8Array) => ui.entriesIn(bytes).map((entry) => Buffer.from(entry).toString('utf8'))
  t.strictSame(texts(bundle), entries.slice(0, 3))
  t.strictSame(texts(bundle.subarray(0, -1)), entries.slice(0, 2), 'a bundle that is cut off')

  const checkpoint = ui.parseCheckpoint(vectors.checkpoint)!
  const key = ui.ledgerKeyOf(vectors.key.vkey)!
  const { note } = checkpoint
  t.match(checkpoint, { origin: vectors.key.origin, size: 11 })
  t.equal(await ui.signatureOf(checkpoint, key), 'signed')
  t.equal(
    await ui.signatureOf({ ...checkpoint, note: { ...note, text: note.text.replace('\n11\n', '\n12\n') } }, key),
    'wrong',
  )
  t.equal(await ui.signatureOf(checkpoint, { ...key, id: '00000000' }), 'unsigned')
  t.equal(await ui.signatureOf(ui.parseCheckpoint(vectors.cosigned.text)!, key), 'signed', 'with a line of a witness')
  for (const malformed of [
    '',
    'a',
    vectors.checkpoint.replace('—', '-'),
    vectors.checkpoint.replace('\n11\n', '\n011\n'),
  ])
    t.equal(ui.parseCheckpoint(malformed), undefined, JSON.stringify(malformed.slice(0, 20)))
  t.equal(ui.ledgerKeyOf(vectors.key.vkey.replace('+b0', '+c0')), undefined, 'an id of another key')
  t.equal(ui.ledgerKeyOf(vectors.cosigned.witnessVkey), undefined, 'a key of a witness')
})

await t.test('a consistency proof holds for its two trees and for no others', async (t) => {
  for (const from of sizes)
    for (const to of sizes.filter((size) => size >= from)) {
      const [old, grown] = [await treeOf(from), await treeOf(to)]
      const proof = await consistencyProof(from, to, read)
      const wrong = { ...old, root: Buffer.alloc(32) }
      if (!ui.verifyConsistency(old, grown, proof)) t.fail(`${from} to ${to}`)
      if (ui.verifyConsistency(wrong, grown, proof)) t.fail(`${from} to ${to} with another root`)
      if (ui.verifyConsistency(old, grown, [...proof, old.root])) t.fail(`${from} to ${to} with another hash`)
    }
  const { consistency, roots } = vectors.pattern
  const bytes = (text: string) => Buffer.from(text, 'base64')
  const rootOf = (size: number) => roots.find((one) => one.size === size)?.root
  const published = consistency.filter(({ from, to }) => rootOf(from) !== undefined && rootOf(to) !== undefined)
  t.ok(published.length > 0)
  for (const { from, to, hashes } of published) {
    const trees = [from, to].map((size) => ({ size, root: bytes(rootOf(size)!) }))
    t.ok(ui.verifyConsistency(trees[0]!, trees[1]!, hashes.map(bytes)), `${from} to ${to}`)
  }
})

await t.test('a recomputed tree needs each tile once, at most four tiles ahead', async (t) => {
  for (const size of sizes) {
    const requested: string[] = []
    const progress: number[] = []
    const ahead = { most: 0, open: 0 }
    const serve = serving(entries, requested)
    const found = await ui.recompute({
      signed: [await treeOf(size)],
      read: async (path) => {
        ahead.most = Math.max(ahead.most, ++ahead.open)
        return serve(path).finally(() => ahead.open--)
      },
      onProgress: (done) => progress.push(done),
    })
    const tiles = Math.ceil(size / TILE_WIDTH)
    t.equal(found, undefined, `${size} events`)
    t.equal(new Set(requested).size, 2 * tiles)
    t.equal(requested.length, 2 * tiles)
    t.ok(ahead.most <= 8)
    t.equal(progress.at(-1), size)
    t.equal(tileWidth(size, { level: 0, index: tiles }), 0)
  }
})

await t.test('an edited, removed or inserted entry is named, wherever it is', async (t) => {
  const signed = [await treeOf(SIZE)]
  const extra = entryOf({ ...patternRecord(0), id: 'inserted' })
  for (const index of [0, 1, 9, 255, 256, 511, 512, 698, 699]) {
    const changed: Readonly<Record<string, readonly string[]>> = {
      edited: entries.with(index, entries[index]!.replace('"v":1', '"v":2')),
      removed: entries.toSpliced(index, 1),
      inserted: entries.toSpliced(index, 0, extra),
    }
    for (const [what, shown] of Object.entries(changed)) {
      const found = await ui.recompute({ signed, read: serving(shown), onProgress: () => undefined })
      t.strictSame(found, { cause: 'event', index }, `${what} at ${index}`)
    }
  }
})

await t.test('a bundle that ends early is named at its first missing entry', async (t) => {
  const signed = [await treeOf(SIZE)]
  for (const [cut, index] of [
    [0, 256],
    [1, 256],
    [-1, 511],
  ] as const) {
    const read = async (path: string) => {
      const bytes = await serving(entries)(path)
      return path === 'tile/entries/001' ? bytes.subarray(0, cut) : bytes
    }
    t.strictSame(await ui.recompute({ signed, read, onProgress: () => undefined }), { cause: 'event', index }, `${cut}`)
  }
})

await t.test('leaves that fit changed entries are found by the signed checkpoints', async (t) => {
  const changed = entries.with(300, entries[300]!.replace('"v":1', '"v":2'))
  const rebuilt = serving(changed)
  const read = async (path: string) =>
    path.startsWith('tile/0/')
      ? Buffer.concat(
          ui
            .entriesIn(await rebuilt(path.replace('/0/', '/entries/')))
            .map((entry) => leafOf(Buffer.from(entry).toString('utf8'))),
        )
      : rebuilt(path)
  const at = async (...trees: readonly number[]) =>
    ui.recompute({ signed: await Promise.all(trees.map(treeOf)), read, onProgress: () => undefined })
  t.strictSame(await at(SIZE), { cause: 'tree', index: 0 })
  t.strictSame(await at(256, 290, 310, SIZE), { cause: 'tree', index: 290 })
  t.strictSame(await at(300, 301), { cause: 'tree', index: 300 })
  t.equal(await at(255, 300), undefined, 'a checkpoint before the change fits')
})
