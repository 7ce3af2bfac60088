import fc from 'fast-check'
import t from 'tap'
import { shortFloat32 } from '../../src/events/flag.ts'

await t.test('the printed text of a float32 parses to the same float32', (t) => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      t.equal(Math.fround(Number(JSON.stringify(shortFloat32(value)))) + 0, value + 0)
    }),
  )
  t.end()
})

await t.test('no shorter decimal number parses to the same float32', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(1, 10, 100), (n, scale) => {
      const written = n / scale
      t.equal(JSON.stringify(shortFloat32(Math.fround(written))), JSON.stringify(written))
    }),
  )
  for (const [value, text] of [
    [33.33, '33.33'],
    [0.1, '0.1'],
    [100, '100'],
    [1 / 3, '0.33333334'],
    [16_777_216, '16777216'],
  ] as const)
    t.equal(JSON.stringify(shortFloat32(value)), text)
  t.end()
})
