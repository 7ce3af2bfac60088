import fc from 'fast-check'
import t from 'tap'
import { EMPTY_ROOT, type Hash } from '../../src/verifier/hashes.ts'
import { coverCheck, coverHashes, coverRanges, selection } from '../../src/verifier/proof/cover.ts'
import { type LeafRange, type ReadNodes, rootAt } from '../../src/verifier/proof/proofs.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { base64, patternLeaves, vectors } from './vectors.ts'

const leaves = patternLeaves(3000)
const nodes = new Map<string, Hash>()
const range = compactRange(undefined, (level, index, hash) => nodes.set(`${level} ${index}`, hash))
for (const leaf of leaves) range.append(leaf)
let reads = 0
const read: ReadNodes = async (wanted) => {
  reads++
  return wanted.map(({ level, index }) => nodes.get(`${level} ${index}`)!)
}

/** The walk of the definition: each node without a selected leaf, from the root, left half first. */
const walk = (lo: number, hi: number, selected: ReadonlySet<number>): readonly LeafRange[] => {
  const has = Array.from({ length: hi - lo }, (_, n) => selected.has(lo + n))
  if (hi === lo) return []
  if (!has.includes(true)) return [[lo, hi]]
  if (hi - lo === 1) return []
  let half = 1
  while (2 * half < hi - lo) half *= 2
  return [...walk(lo, lo + half, selected), ...walk(lo + half, hi, selected)]
}

const hashesOf = async (size: number, runs: readonly LeafRange[]) => {
  const hashes: Hash[] = []
  for await (const batch of coverHashes(size, runs, read)) hashes.push(...batch)
  return hashes
}
/** Root that a check computes from the leaves of runs and the hashes of a cover. */
const rootFrom = (size: number, runs: readonly LeafRange[], hashes: readonly Hash[]) => {
  const check = coverCheck(size, hashes.values())
  for (const [from, to] of runs) for (let n = from; n < to; n++) check.add(n, leaves[n]!)
  return check.root()
}

await t.test('the covers of the published examples are equal and lead to the root', async (t) => {
  for (const { size, held, hashes } of vectors.pattern.cover) {
    t.strictSame((await hashesOf(size, held)).map(base64), hashes)
    const given = hashes.map((hash) => Buffer.from(hash, 'base64'))
    t.equal(base64(rootFrom(size, held, given)!), base64(await rootAt(size, read)))
  }
})

await t.test('a cover has the nodes of the definition and leads to the root, for any selection', async (t) => {
  const cases = fc
    .integer({ min: 0, max: 70 })
    .chain((size) => fc.tuple(fc.constant(size), fc.subarray(Array.from({ length: size }, (_, n) => n))))
  await fc.assert(
    fc.asyncProperty(cases, async ([size, indexes]) => {
      const chosen = selection()
      for (const index of indexes) chosen.add(index)
      const runs = [...chosen.runs()]
      if ([...coverRanges(size, runs)].join(' ') !== walk(0, size, new Set(indexes)).join(' ')) return false
      const hashes = await hashesOf(size, runs)
      const root = base64(await rootAt(size, read))
      for (let place = 0; place < hashes.length; place++) {
        const changed = hashes.map((hash, n) => (n === place ? EMPTY_ROOT : hash))
        if (base64(rootFrom(size, runs, changed)!) === root) return false
        if (rootFrom(size, runs, hashes.toSpliced(place, 1)) !== undefined) return false
      }
      if (rootFrom(size, runs, [...hashes, EMPTY_ROOT]) !== undefined) return false
      return base64(rootFrom(size, runs, hashes)!) === root
    }),
    { numRuns: 200 },
  )
  t.pass('all cases')
})

await t.test('a check refuses indexes out of order and outside the tree', async (t) => {
  const hashes = await hashesOf(9, [[3, 5]])
  for (const indexes of [[4, 3], [3, 3], [3, 9], [-1], [3.5], [Number.NaN]]) {
    const check = coverCheck(9, hashes.values())
    t.strictSame(indexes.map((index) => check.add(index, leaves[3]!)).at(-1), false, indexes.join())
    t.equal(check.add(5, leaves[5]!), false)
    t.equal(check.root(), undefined)
  }
  const other = coverCheck(9, hashes.values())
  t.ok(other.add(3, leaves[3]!))
  t.notOk(other.add(8, leaves[8]!) && other.root() !== undefined)
  t.equal(base64(coverCheck(0, [].values()).root()!), base64(EMPTY_ROOT))
  t.end()
})

await t.test('a check returns the roots of smaller sizes that no node of the cover spans', async (t) => {
  const runs = [[5, 12]] as const
  const hashes = await hashesOf(20, runs)
  const check = coverCheck(20, hashes.values(), [0, 3, 4, 5, 8, 11, 12, 14, 16, 20, 30])
  for (let n = 5; n < 12; n++) check.add(n, leaves[n]!)
  check.root()
  const expected = [4, 5, 8, 11, 12, 16, 20]
  t.strictSame([...check.roots.keys()], expected)
  for (const size of expected) t.equal(base64(check.roots.get(size)!), base64(await rootAt(size, read)), `${size}`)
})

await t.test('a cover reads its nodes in batches and keeps one run at a time', async (t) => {
  const every = function* (): Generator<LeafRange> {
    for (let n = 0; n < 3000; n += 2) yield [n, n + 1]
  }
  reads = 0
  let count = 0
  for await (const batch of coverHashes(3000, every(), read)) count += batch.length
  t.equal(count, 1500)
  t.equal(reads, Math.ceil(1500 / 256))
  const whole = coverRanges(2 ** 50, [[2 ** 49, 2 ** 49 + 1_000_000]])
  // To the right of the run lies one node for each bit of 2^49 − 1,000,000.
  t.equal([...whole].length, 1 + 37)
})

await t.test('runs that overlap, are empty or leave the tree are refused', (t) => {
  for (const runs of [
    [
      [0, 2],
      [1, 3],
    ],
    [[2, 2]],
    [[3, 2]],
    [[0, 11]],
    [[-1, 2]],
  ] as const)
    t.throws(() => [...coverRanges(10, runs)], /does not follow/)
  const chosen = selection()
  for (const index of [0, 1, 2, 5, 7, 8]) chosen.add(index)
  t.throws(() => chosen.add(8), /index 8 does not follow index 8/)
  t.strictSame(
    [...chosen.runs()],
    [
      [0, 3],
      [5, 6],
      [7, 9],
    ],
  )
  t.end()
})
