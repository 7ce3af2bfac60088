import t from 'tap'
import { checksum } from '../../src/evaluation/bucket.ts'
import { contextText } from '../../src/contract/entity.ts'
import { normalDatetime, parseDatetime } from '../../src/evaluation/datetime.ts'
import { parseTextList } from '../../src/evaluation/list.ts'
import { parseNumber } from '../../src/evaluation/number.ts'
import { finder, trim } from '../../src/evaluation/text.ts'

const SMALL = 1 << 18
const GROWTH = 8

const TRIES = 30

const timed = (run: () => void): number => {
  const start = performance.now()
  run()
  return performance.now() - start
}

const long = finder(`b${'a'.repeat(20_000)}`)
const middle = finder(`${'a'.repeat(10_000)}b${'a'.repeat(10_000)}`)
const short = finder(`b${'a'.repeat(31)}`)

const cases: Readonly<Record<string, readonly [work: (text: string) => void, text: (length: number) => string]>> = {
  'a number of digits': [parseNumber, (n) => '1'.repeat(n)],
  'digits and something else': [parseNumber, (n) => `${'1'.repeat(n)}x`],
  'a fraction of zeros': [parseNumber, (n) => `.${'0'.repeat(n)}1`],
  'a fraction and something else': [parseNumber, (n) => `1.${'0'.repeat(n)}x`],
  'an exponent of digits': [parseNumber, (n) => `1e${'0'.repeat(n)}x`],
  'a hexadecimal of digits': [parseNumber, (n) => `0x${'f'.repeat(n)}p-${4 * n}`],
  'a hexadecimal of zeros': [parseNumber, (n) => `0x.${'0'.repeat(n)}1p${4 * n}`],
  'a hexadecimal without an exponent': [parseNumber, (n) => `0x${'f'.repeat(n)}`],
  'a hexadecimal exponent of digits': [parseNumber, (n) => `0x1p${'9'.repeat(n)}`],
  signs: [parseNumber, (n) => '-'.repeat(n)],
  'a datetime with a long fraction': [parseDatetime, (n) => `2024-05-01T00:00:00.${'1'.repeat(n)}Z`],
  'a datetime with a long fraction and something else': [normalDatetime, (n) => `2024-05-01T00:00:00.${'1'.repeat(n)}`],
  'a datetime of digits': [parseDatetime, (n) => '1'.repeat(n)],
  spaces: [trim, (n) => ' '.repeat(n)],
  'spaces inside': [trim, (n) => `a${' '.repeat(n)}b`],
  'a long part in a text made for it': [long, (n) => 'a'.repeat(n)],
  'a long part with its odd character in the middle': [middle, (n) => 'a'.repeat(n)],
  'a short part in a text made for it': [short, (n) => 'a'.repeat(n)],
  'a checksum': [(text) => checksum(text, 'flag'), (n) => 'é'.repeat(n)],
  'a list of brackets': [parseTextList, (n) => '['.repeat(n)],
  'a list of nothing': [parseTextList, (n) => `[${'null,'.repeat(n / 5)}null]`],
  'a context value': [contextText, (n) => 'a'.repeat(n)],
}

await t.test('no text takes more than its length in time', async (t) => {
  for (const [name, [work, text]] of Object.entries(cases)) {
    const [small, large] = [text(SMALL), text(SMALL * GROWTH)]
    work(small)
    let [short, long, growth] = [Infinity, Infinity, Infinity]
    // Quadratic work would grow by 64 in every try. A tenth of a millisecond is below what can be told apart.
    for (let n = 0; n < 3 || (n < TRIES && growth >= 32); n++) {
      short = Math.min(
        short,
        timed(() => work(small)),
      )
      long = Math.min(
        long,
        timed(() => work(large)),
      )
      growth = (long + 0.1) / (short + 0.1)
    }
    t.ok(growth < 32, `${name}: ${growth.toFixed(1)} times as long for ${GROWTH} times the text`)
  }
})

await t.test('long texts are read right, not only soon', async (t) => {
  const n = 1_000_000
  t.equal(parseNumber(`0x${'0'.repeat(n)}1p4`), 16)
  t.equal(parseNumber(`0x1${'0'.repeat(n)}p-${4 * n}`), 1)
  t.equal(parseNumber(`0x.${'0'.repeat(n)}1p${4 * n + 4}`), 1)
  t.equal(parseNumber(`.${'0'.repeat(n)}1e${n + 1}`), 1)
  t.equal(parseNumber(`1e-${'9'.repeat(n)}`), 0)
  t.equal(parseNumber(`0x1p${'9'.repeat(n)}`), undefined)
  t.equal(parseNumber('1'.repeat(n)), undefined)
  t.equal(long(`${'a'.repeat(n)}b${'a'.repeat(20_000)}`), true)
  t.equal(long(`${'a'.repeat(n)}b${'a'.repeat(19_999)}`), false)
})
