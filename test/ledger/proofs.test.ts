import fc from 'fast-check'
import t from 'tap'
import { nodesFromTiles } from '../../src/ledger/tiles/tile-reader.ts'
import { EMPTY_ROOT, type Hash } from '../../src/verifier/hashes.ts'
import {
  consistencyProof,
  inclusionProof,
  type ReadNodes,
  rootAt,
  verifyConsistency,
  verifyInclusion,
} from '../../src/verifier/proof/proofs.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { consistencyOf, pathOf, rootOf } from './reference.ts'
import { base64, patternLeaves, vectors } from './vectors.ts'

/** Reader of the complete subtrees over leaves, with the number of its calls. */
const readerOver = (leaves: readonly Hash[]) => {
  const nodes = new Map<string, Hash>()
  const range = compactRange(undefined, (level, index, hash) => nodes.set(`${level} ${index}`, hash))
  for (const leaf of leaves) range.append(leaf)
  let calls = 0
  const read: ReadNodes = async (wanted) => {
    calls++
    return wanted.map(({ level, index }) => nodes.get(`${level} ${index}`)!)
  }
  return { read, calls: () => calls }
}

const leaves = patternLeaves(65_537)
const { read } = readerOver(leaves)
const hashesOf = (texts: readonly string[]) => texts.map((text) => Buffer.from(text, 'base64'))
const flipped = (bytes: Uint8Array, bit: number): Uint8Array => {
  const changed = Uint8Array.from(bytes)
  changed[bit >> 3]! ^= 1 << (bit & 7)
  return changed
}

await t.test('the proofs of the published examples are equal and verify', async (t) => {
  const { inclusion, consistency, roots } = vectors.pattern
  for (const { size, root } of roots) t.equal(base64(await rootAt(size, read)), root)
  for (const { index, size, hashes } of inclusion) {
    t.strictSame((await inclusionProof(index, size, read)).map(base64), hashes)
    t.ok(verifyInclusion(leaves[index]!, index, hashesOf(hashes), { size, root: await rootAt(size, read) }))
  }
  for (const { from, to, hashes } of consistency) {
    t.strictSame((await consistencyProof(from, to, read)).map(base64), hashes)
    const [older, newer] = [await rootAt(from, read), await rootAt(to, read)]
    t.ok(verifyConsistency({ size: from, root: older }, { size: to, root: newer }, hashesOf(hashes)))
  }
})

await t.test('proofs of every index and size up to 24 are equal to those of the definition', async (t) => {
  for (let size = 1; size <= 24; size++) {
    const some = leaves.slice(0, size)
    const root = rootOf(some)
    for (let index = 0; index < size; index++) {
      const path = await inclusionProof(index, size, read)
      t.strictSame(path.map(base64), pathOf(index, some).map(base64))
      t.ok(verifyInclusion(leaves[index]!, index, path, { size, root }))
      for (let other = 0; other <= size; other++)
        if (other !== index) t.notOk(verifyInclusion(leaves[index]!, other, path, { size, root }), `${index} ${other}`)
      const proof = await consistencyProof(index + 1, size, read)
      t.strictSame(proof.map(base64), consistencyOf(index + 1, some).map(base64))
      t.ok(verifyConsistency({ size: index + 1, root: rootOf(some.slice(0, index + 1)) }, { size, root }, proof))
    }
  }
})

await t.test('a proof of any size verifies, and fails after the change of any bit', async (t) => {
  const sizes = fc.integer({ min: 1, max: leaves.length })
  const cases = fc.tuple(sizes, sizes, fc.nat()).map(([one, other, bit]) => {
    const [from, to] = [Math.min(one, other), Math.max(one, other)]
    return { from, to, bit }
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ from, to, bit }) => {
      const index = from - 1
      const [older, newer] = [
        { size: from, root: await rootAt(from, read) },
        { size: to, root: await rootAt(to, read) },
      ]
      const path = await inclusionProof(index, to, read)
      const proof = await consistencyProof(from, to, read)
      /** Verdicts with one of the values changed, the hashes of the proofs first. */
      const verdicts = (place: number, change: (hash: Hash) => Hash) => {
        const at = (n: number, hash: Hash) => (n === place ? change(hash) : hash)
        const [a, b] = [path.length, path.length + proof.length]
        return [
          verifyInclusion(
            at(b, leaves[index]!),
            index,
            path.map((hash, n) => at(n, hash)),
            { size: to, root: at(b + 1, newer.root) },
          ),
          verifyConsistency(
            { size: from, root: at(b + 2, older.root) },
            { size: to, root: at(b + 1, newer.root) },
            proof.map((hash, n) => at(a + n, hash)),
          ),
        ]
      }
      const count = path.length + proof.length + 3
      if (verdicts(-1, (hash) => hash).includes(false)) throw new Error('a right proof was refused')
      for (let place = 0; place < count; place++)
        if (!verdicts(place, (hash) => flipped(hash, (bit + place * 31) % 256)).includes(false))
          throw new Error(`the change of hash ${place} was not noticed`)
      const longer = [...path, EMPTY_ROOT]
      if (verifyInclusion(leaves[index]!, index, longer, newer)) throw new Error('a longer path was accepted')
      if (verifyInclusion(leaves[index]!, index, path.slice(0, -1), newer) && path.length > 0)
        throw new Error('a shorter path was accepted')
      if (verifyConsistency(older, newer, [...proof, EMPTY_ROOT])) throw new Error('a longer proof was accepted')
    }),
    { numRuns: 300 },
  )
  t.pass('all cases')
})

await t.test('every bit of a small proof counts', async (t) => {
  const newer = { size: 7, root: await rootAt(7, read) }
  const older = { size: 3, root: await rootAt(3, read) }
  const path = await inclusionProof(5, 7, read)
  const proof = await consistencyProof(3, 7, read)
  for (let bit = 0; bit < 256 * path.length; bit++) {
    const changed = path.map((hash, n) => (n === bit >> 8 ? flipped(hash, bit & 255) : hash))
    if (verifyInclusion(leaves[5]!, 5, changed, newer)) t.fail(`bit ${bit} of the path`)
  }
  for (let bit = 0; bit < 256 * proof.length; bit++) {
    const changed = proof.map((hash, n) => (n === bit >> 8 ? flipped(hash, bit & 255) : hash))
    if (verifyConsistency(older, newer, changed)) t.fail(`bit ${bit} of the proof`)
  }
  t.pass('all bits')
})

await t.test('numbers outside the tree are refused', async (t) => {
  const root = leaves[0]!
  for (const [index, size] of [
    [1, 1],
    [-1, 1],
    [0, 0],
    [0.5, 1],
    [0, 2 ** 53],
  ] as const) {
    t.throws(() => inclusionProof(index, size, read))
    t.notOk(verifyInclusion(root, index, [], { size, root }))
  }
  for (const [from, to] of [
    [0, 1],
    [2, 1],
    [-1, 1],
  ] as const)
    t.throws(() => consistencyProof(from, to, read))
  t.notOk(verifyConsistency({ size: 2, root }, { size: 1, root }, []))
  t.notOk(verifyConsistency({ size: 1, root }, { size: 1, root: EMPTY_ROOT }, []))
  t.ok(verifyConsistency({ size: 1, root }, { size: 1, root }, []))
  t.ok(verifyConsistency({ size: 0, root: EMPTY_ROOT }, { size: 1, root }, []))
  t.notOk(verifyConsistency({ size: 0, root }, { size: 1, root }, []))
  t.ok(verifyInclusion(root, 0, [], { size: 1, root }))
})

await t.test('a proof reads all its nodes in one call, and each tile once', async (t) => {
  const { read, calls } = readerOver(leaves.slice(0, 1000))
  await inclusionProof(300, 1000, read)
  await consistencyProof(300, 1000, read)
  t.equal(calls(), 2)
  const tiles: string[] = []
  const hashes = (level: number, index: number) =>
    Array.from({ length: 256 }, (_, n) => leaves.slice((256 * index + n) * 256 ** level).slice(0, 256 ** level))
  const fromTiles = nodesFromTiles(async ({ level, index }) => {
    tiles.push(`${level}/${index}`)
    const within = hashes(level, index).filter(
      (group, n) => group.length === 256 ** level && (256 * index + n + 1) * 256 ** level <= 1000,
    )
    return Buffer.concat(within.map(rootOf))
  })
  t.strictSame((await inclusionProof(300, 1000, fromTiles)).map(base64), pathOf(300, leaves.slice(0, 1000)).map(base64))
  t.strictSame(tiles.toSorted(), ['0/1', '0/3', '1/0'])
  await t.rejects(nodesFromTiles(async () => new Uint8Array(32))([{ level: 0, index: 1 }]), /narrower than the tree/)
  await t.rejects(
    inclusionProof(0, 2, async () => []),
    /0 hashes were read for 1 nodes/,
  )
})
