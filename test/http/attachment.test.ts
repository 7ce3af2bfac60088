import fc from 'fast-check'
import t from 'tap'
import { attachment, minified } from '../../src/contract/flags/variant.ts'
import { blocksRun } from '../work.ts'

const spaces = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 })
const scalar = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '1.50',
    '-0',
    '1E+2',
    '0.10e-05',
    '12345678901234567890',
    String.raw`"\u0041 \"{[: ,\\"`,
    '" \u00a0 "',
  ),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
)
/** JSON text as tokens, between which white space may be inserted; members may repeat. */
const tokens: fc.Arbitrary<readonly string[]> = fc.letrec<{ value: readonly string[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar.map((text) => [text]),
    fc
      .array(tie('value'), { maxLength: 4 })
      .map((items) => ['[', ...items.flatMap((item, n) => (n === 0 ? item : [',', ...item])), ']']),
    fc
      .array(fc.tuple(fc.constantFrom('"a"', '"b c"', '"\\""'), tie('value')), { maxLength: 4 })
      .map((members) => [
        '{',
        ...members.flatMap(([key, value], n) => [...(n === 0 ? [] : [',']), key, ':', ...value]),
        '}',
      ]),
  ),
})).value

await t.test('white space in an attachment is removed only where it means nothing', (t) => {
  fc.assert(
    fc.property(tokens, fc.infiniteStream(spaces), (parts, between) => {
      const spaced = parts.map((part) => `${between.next().value}${part}`).join('') + between.next().value
      t.equal(minified(spaced), parts.join(''))
    }),
    { numRuns: 300 },
  )
  t.end()
})

await t.test('checking an attachment takes time proportional to its length', (t) => {
  const hostile = ['[ '.repeat(1e6), `"${'\\'.repeat(1e6)}`, '"" '.repeat(3e5), ' '.repeat(2e6), `"${'x'.repeat(2e6)}`]
  for (const text of hostile) {
    const blocks = blocksRun(() => void minified(text))
    t.ok(blocks <= 3.1 * text.length, `${text.length} characters of ${text.slice(0, 4)} took ${blocks} blocks`)
  }
  t.end()
})

await t.test('an attachment is JSON of at most 1000 KB or an empty text, and is stored as given', (t) => {
  const read = (text: unknown) => attachment.read(text, 'attachment')
  t.equal(read(undefined), '')
  t.equal(read(''), '')
  t.equal(read(' [1 ] '), '[1]')
  for (const text of [' ', '{', '{"a":01}', "{'a':1}", 'NaN', '[1,]', '\u00a0[]'])
    t.throws(() => read(text), { message: /must be a json string$/ })
  t.equal(read(`[${' '.repeat(1_023_998)}]`), '[]')
  t.throws(() => read(`[${' '.repeat(1_023_999)}]`), { message: /must be less than 1000 KB$/ })
  t.equal(read('['.repeat(10_000) + ']'.repeat(10_000)).length, 20_000, 'however deep')
  t.end()
})
