import { assert, integer, property } from 'fast-check'
import t from 'tap'
import { parseDuration, printDuration } from '../../src/config/types.ts'

await t.test('a duration is a sum of hours, minutes, seconds and milliseconds', async (t) => {
  const known = {
    '250ms': 250,
    '10s': 10_000,
    '1h30m': 5_400_000,
    '24h': 86_400_000,
    '1.5h': 5_400_000,
    '0s': 0,
    '1m1ms': 60_001,
  }
  for (const [text, ms] of Object.entries(known)) t.equal(parseDuration(text), ms, text)
})

await t.test('a text that is no sum of hours, minutes, seconds and milliseconds is refused', async (t) => {
  for (const text of [
    '',
    '10',
    's',
    '1d',
    '-1s',
    '1 s',
    '1h 30m',
    '10S',
    '1hs',
    '1e3s',
    'Infinitys',
    '876001h',
    '9'.repeat(400) + 'h',
  ]) {
    t.equal(parseDuration(text), undefined, text.slice(0, 20))
  }
})

await t.test('a printed duration parses to the same value', async (t) => {
  assert(property(integer({ min: 0, max: 3_000_000_000_000 }), (ms) => parseDuration(printDuration(ms)) === ms))
  t.equal(printDuration(5_400_000), '1h30m')
  t.equal(printDuration(0), '0s')
})
