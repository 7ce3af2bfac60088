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

await t.test('an absolute target counts as its path and query, and its host replaces the header', (t) => {
  const read = (url: string) => {
    const request = { url, headers: { host: 'header.test' } } as Request
    const clean = cleanTarget(request)
    const { target, headers } = request
    return [target === undefined || target === 'hollow' ? clean : target, headers.host]
  }
  for (const [url, path, host] of [
    ['/livez', '/livez', 'header.test'],
    ['http://a.test/livez', '/livez', 'a.test'],
    ['HTTPS://A.test:8443/livez/?x=http://b/', '/livez?x=http://b/', 'A.test:8443'],
    ['http://[2001:db8::1]:80', '/', '[2001:db8::1]:80'],
    ['http://a.test:', '/', 'a.test:'],
    ['http://a.test?x', '/?x', 'a.test'],
    ['http://a.test/%61//b', '/a/%00/b', 'a.test'],
    ['http://a.test/a/../b', 'malformed', 'a.test'],
    [`http://a.test/${'a'.repeat(2_048)}`, 'long', 'a.test'],
    [`http://${'a'.repeat(2_041)}/livez`, '/livez', 'a'.repeat(2_041)],
    [`http://${'a'.repeat(2_042)}/livez`, 'long', 'header.test'],
    [`http://${'a'.repeat(2_041)}:/livez`, 'long', 'header.test'],
    ['/http://a.test/livez', '/http%3A/%00/a.test/livez', 'header.test'],
    ['http://user@a.test/livez', 'malformed', 'header.test'],
    ['http://a.test:x/livez', 'malformed', 'header.test'],
    ['http:///livez', 'malformed', 'header.test'],
    ['http:/livez', 'malformed', 'header.test'],
    ['ftp://a.test/livez', 'malformed', 'header.test'],
    ['a.test:80', 'malformed', 'header.test'],
    ['*', 'malformed', 'header.test'],
  ] as const)
    t.strictSame(read(url), [path, host], url.slice(0, 60))
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
