import t from 'tap'
import { cleanTarget, wrongTarget } from '../../src/http/wire/path.ts'
import { blocksRun } from '../work.ts'

type Request = Parameters<typeof cleanTarget>[0]

const wrongOf = (url: string): string | undefined => {
  const request = { url } as Request
  cleanTarget(request)
  const { target } = request
  return target === undefined || target === 'hollow' ? undefined : wrongTarget(target).message
}
const LONG = 'path must have at most 2048 bytes and 32 segments'
const CROWDED = 'invalid field query: must have at most 100 parameters'
const WHOLE = 60_000

await t.test('a request path is accepted up to its limits', (t) => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    [`/${'a'.repeat(2_047)}`, undefined],
    [`/${'a'.repeat(2_048)}`, LONG],
    [`/${'%41'.repeat(682)}`, undefined],
    [`/${'%41'.repeat(683)}`, LONG],
    ['/a'.repeat(32), undefined],
    ['/a'.repeat(33), LONG],
    ['/%41'.repeat(32), undefined],
    ['/%41'.repeat(33), LONG],
    ['/'.repeat(32), undefined],
    ['/'.repeat(33), LONG],
    [`/livez?${'a&'.repeat(99)}a`, undefined],
    [`/livez?${'a&'.repeat(100)}a`, CROWDED],
    [`/livez?${'&'.repeat(99)}`, undefined],
    [`/livez?${'&'.repeat(100)}`, CROWDED],
    [`/livez?a=${'x'.repeat(WHOLE)}`, undefined],
    [`/livez?a=${'/'.repeat(WHOLE)}`, undefined],
    [`/livez?a=${'?'.repeat(WHOLE)}`, undefined],
    [`/${'a'.repeat(2_048)}?${'&'.repeat(100)}`, LONG],
  ]
  for (const [url, message] of rows) t.equal(wrongOf(url), message, `${url.slice(0, 20)} of ${url.length}`)
  const request = { url: `/api//flags?${'a&'.repeat(100)}` } as Request
  t.equal(cleanTarget(request), '/api/%00/flags', 'nothing is left of a query that is refused')
  t.end()
})

await t.test('a request path that is too long is refused without being scanned', (t) => {
  const forms: Readonly<Record<string, string>> = {
    slashes: '/',
    letters: '/a',
    escapes: '/%41',
    'broken escapes': '/%zz',
    dots: '/..',
    'a segment': 'a',
    'an escaped segment': '%41',
    ampersands: '/livez?&',
  }
  for (const [name, form] of Object.entries(forms)) {
    const [first, part] = form.startsWith('/livez') ? ['/livez?', '&'] : ['/', form]
    const costOf = (bytes: number): number =>
      blocksRun(() => wrongOf(first + part.repeat(Math.floor(bytes / part.length))))
    costOf(WHOLE)
    const cost = costOf(WHOLE)
    t.ok(cost < 1_000, `${name}: ${cost} blocks`)
  }
  t.end()
})
