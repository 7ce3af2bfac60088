import { createHash } from 'node:crypto'
import t from 'tap'
import { tamperingOf } from '../../src/verifier/proof/tampering.ts'
import { vectors } from './vectors.ts'

const hashes = (names: readonly string[]) =>
  Buffer.concat(names.map((name) => createHash('sha256').update(name).digest()))

await t.test('the first difference has the kind and index of the published examples', (t) => {
  for (const { kept, have, what, index } of vectors.tamper) {
    const found = tamperingOf(hashes([...kept]), hashes([...have]))
    t.strictSame(found, what === 'none' ? undefined : { kind: what, index }, `${kept} ${have}`)
  }
  t.equal(tamperingOf(hashes([]), hashes([])), undefined)
  t.strictSame(tamperingOf(hashes(['A']), hashes([])), { kind: 'truncated', index: 0 })
  t.end()
})

await t.test('a difference in a long log is found behind the first step', (t) => {
  const names = Array.from({ length: 70_000 }, (_, n) => `${n}`)
  const at = 40_000
  const kept = hashes(names)
  const [one, next, last] = [names[at]!, names[at + 1]!, names.length - 1]
  for (const [kind, have] of [
    ['changed', names.with(at, 'X')],
    ['removed', names.toSpliced(at, 1)],
    ['inserted', names.toSpliced(at, 0, 'X')],
    ['moved', names.with(at, next).with(at + 1, one)],
    ['moved', names.with(at, names[last]!).with(last, one)],
  ] as const)
    t.strictSame(tamperingOf(kept, hashes(have)), { kind, index: at })
  t.strictSame(tamperingOf(kept, kept.subarray(0, 32 * at)), { kind: 'truncated', index: at })
  t.equal(tamperingOf(kept.subarray(0, 32 * at), kept), undefined)
  t.end()
})

await t.test('bytes of a hash that lie across two others are not found', (t) => {
  const [one, other, across] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 1)]
  across.fill(2, 16)
  const kept = Buffer.concat([hashes(['A']), one, other])
  const have = Buffer.concat([hashes(['A']), across, other])
  t.strictSame(tamperingOf(kept, have), { kind: 'changed', index: 1 })
  t.end()
})
