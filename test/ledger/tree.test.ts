import t from 'tap'
import { entryOf } from '../../src/verifier/entry.ts'
import { EMPTY_ROOT, type Hash, leafOf } from '../../src/verifier/hashes.ts'
import { compactRange, split } from '../../src/verifier/tree.ts'
import { rootOf } from './reference.ts'
import { base64, patternLeaves, patternRecord, recordOf, vectors } from './vectors.ts'

await t.test('entries and leaves of the published examples are equal byte for byte', (t) => {
  for (const vector of vectors.events) {
    const entry = entryOf(recordOf(vector))
    t.equal(entry, vector.entry)
    t.equal(base64(leafOf(entry)), vector.leafHash)
  }
  t.equal(entryOf(patternRecord(0)), vectors.pattern.entry0)
  t.end()
})

await t.test('an entry escapes its texts as canonical JSON does', (t) => {
  const record = { ...patternRecord(0), stream: 'token-"\\\u0001é\u2028😀', data: 'not JSON', meta: '' }
  const entry = JSON.parse(entryOf(record)) as { readonly stream: string }
  t.equal(entry.stream, record.stream)
  t.match(entryOf(record), '"stream":"token-\\"\\\\\\u0001é\u2028😀"')
  for (let code = 0; code < 0x3_00; code++) {
    const stream = `a${String.fromCharCode(code)}b`
    t.ok(entryOf({ ...record, stream }).includes(`"stream":${JSON.stringify(stream)},`), `code ${code}`)
  }
  t.end()
})

await t.test('the roots of the published examples are equal at every size', (t) => {
  const compare = (leaves: readonly Hash[], roots: readonly { readonly size: number; readonly root: string }[]) => {
    const range = compactRange()
    for (const { size, root } of roots) {
      while (range.size < size) range.append(leaves[range.size]!)
      t.equal(base64(range.root()), root, `size ${size}`)
    }
  }
  compare(
    vectors.events.map(({ leafHash }) => Buffer.from(leafHash, 'base64')),
    vectors.roots,
  )
  compare(patternLeaves(Math.max(...vectors.pattern.roots.map(({ size }) => size))), vectors.pattern.roots)
  t.equal(base64(EMPTY_ROOT), vectors.roots[0]!.root)
  t.end()
})

await t.test('a compact range continues from its frontier and reports each complete subtree', (t) => {
  const leaves = patternLeaves(70)
  const nodes = new Map<string, string>()
  let range = compactRange()
  for (const [n, leaf] of leaves.entries()) {
    range = compactRange(range.frontier(), (level, index, hash) => nodes.set(`${level} ${index}`, base64(hash)))
    range.append(leaf)
    t.equal(range.size, n + 1)
    t.equal(base64(range.root()), base64(rootOf(leaves.slice(0, n + 1))))
  }
  for (let level = 0; 2 ** level <= leaves.length; level++)
    for (let index = 0; (index + 1) * 2 ** level <= leaves.length; index++) {
      const expected = rootOf(leaves.slice(index * 2 ** level, (index + 1) * 2 ** level))
      t.equal(nodes.get(`${level} ${index}`), base64(expected), `level ${level}, index ${index}`)
      nodes.delete(`${level} ${index}`)
    }
  t.equal(nodes.size, 0)
  t.throws(() => compactRange({ size: 3, hashes: [leaves[0]!] }))
  t.end()
})

await t.test('the left half has the largest power of two below the size', (t) => {
  for (let n = 2; n < 2000; n++) {
    const k = split(n)
    t.ok(Number.isInteger(Math.log2(k)) && k < n && 2 * k >= n, `${n}`)
  }
  for (const power of [2 ** 31, 2 ** 32, 2 ** 33, 2 ** 52]) {
    t.equal(split(power), power / 2)
    t.equal(split(power + 1), power)
    t.equal(split(power - 1), power / 2)
  }
  t.end()
})
