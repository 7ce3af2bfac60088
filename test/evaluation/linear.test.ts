import t from 'tap'
import { contextText } from '../../src/contract/entity.ts'
import { checksum } from '../../src/evaluation/bucket.ts'
import { finder, trim } from '../../src/evaluation/constraint.ts'
import { normalDatetime, parseDatetime, parseNumber, parseTextList } from '../../src/evaluation/values.ts'
import { looksOf } from './looks.ts'

const SMALL = 1 << 11
const GROWTH = 4
/**
 * Maximum number of reads per character: a few, and for the builtin search the length of the longest part that it
 * handles.
 */
const MOST = 8
const MOST_SEARCHED = 32

const long = finder(`b${'a'.repeat(20_000)}`)
const searching = (part: string) => (text: string) => void finder(part)(text)

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
  'a long part in a text made for it': [searching(`b${'a'.repeat(2_000)}`), (n) => 'a'.repeat(n)],
  'a long part with its odd character in the middle': [
    searching(`${'a'.repeat(1_000)}b${'a'.repeat(1_000)}`),
    (n) => 'a'.repeat(n),
  ],
  'a part that is just long in a text made for it': [searching(`${'a'.repeat(32)}b`), (n) => 'a'.repeat(n)],
  'a short part in a text made for it': [searching(`b${'a'.repeat(31)}`), (n) => 'a'.repeat(n)],
  'a checksum': [(text) => checksum(text, 'flag'), (n) => 'é'.repeat(n)],
  'a list of brackets': [parseTextList, (n) => '['.repeat(n)],
  'a list of nothing': [parseTextList, (n) => `[${'null,'.repeat(n / 5)}null]`],
  'a context value': [contextText, (n) => 'a'.repeat(n)],
}

await t.test('evaluation reads each character of a text a limited number of times', async (t) => {
  for (const [name, [work, text]] of Object.entries(cases)) {
    const [small, large] = [text(SMALL), text(SMALL * GROWTH)]
    const [few, many] = [looksOf(() => work(small)), looksOf(() => work(large))]
    const most = name.startsWith('a short part') ? MOST_SEARCHED : MOST
    t.ok(many <= most * large.length, `${name}: ${many} looks at ${large.length} characters`)
    t.ok(many <= GROWTH * few + 100, `${name}: from ${few} looks to ${many}`)
  }
})

await t.test('the test of linear time detects parsers that are not linear', async (t) => {
  const growth = (work: (text: string) => void, text: (length: number) => string) =>
    looksOf(() => work(text(2_000))) / looksOf(() => work(text(1_000)))
  for (const [name, work, text] of [
    ['a pattern that begins anywhere', (of) => /\d+$/.test(of), (n) => `${'1'.repeat(n)}x`],
    ['a pattern of two like parts', (of) => /^\d*\d*$/.test(of), (n) => `${'1'.repeat(n)}x`],
    ['a search for half of the text', (of) => of.includes(of.slice(0, of.length / 2)), (n) => 'a'.repeat(n)],
    [
      'a loop in a loop',
      (of) => {
        for (let n = 0; n < of.length; n++) for (let m = 0; m < n; m++) of.charCodeAt(m)
      },
      (n) => 'a'.repeat(n),
    ],
  ] as readonly (readonly [string, (of: string) => void, (length: number) => string])[]) {
    const found = growth(work, text)
    t.ok(found > 3.9, `${name}: ${found.toFixed(2)} times the looks for twice the text`)
  }
})

await t.test('long texts are parsed correctly', async (t) => {
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
