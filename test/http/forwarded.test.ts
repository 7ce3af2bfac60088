import t from 'tap'
import { addressIn, clientAddress } from '../../src/http/wire/client-address.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'

type Line = { readonly level: string; readonly msg: string }
const FORWARDED = /^a client sent X-Forwarded headers, but its address is not in server\.trust_proxy/
/** Sends forwarded headers and returns the levels of the log lines about them. */
const told = async (t: Parameters<typeof startService>[0], settings: Readonly<Record<string, string>>) => {
  const { request, logged } = await startService(t, settings)
  await request('GET', '/livez')
  t.notMatch(await logged(), 'forwarded headers')
  for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-for'])
    await request('GET', '/livez', undefined, { [name]: '192.0.2.7' })
  const lines = (await logged())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
  t.notMatch(await logged(), '192.0.2.7')
  return lines.filter(({ msg }) => FORWARDED.test(msg)).map(({ level }) => level)
}

await t.test('forwarded headers of an untrusted peer are logged once, without the address', async (t) => {
  t.same(await told(t, {}), ['WARN'])
  t.same(await told(t, { 'server.trust_proxy': '10.0.0.0/8' }), ['WARN'])
  t.same(await told(t, { 'authentication.open_on_purpose': 'forwarded' }), ['INFO'])
  t.same(await told(t, { 'server.trust_proxy': '127.0.0.0/8' }), [])
  t.same(await told(t, { 'server.trust_proxy': 'true' }), [])
})

/** Trusts every proxy except 198.51.100.0/24. */
const trusts = (hop: string): boolean => !hop.startsWith('198.51.100.')
const comingFrom = (list: string | undefined, peer: string | undefined = '10.0.0.1') =>
  clientAddress(trusts)({
    headers: list === undefined ? {} : { 'x-forwarded-for': list },
    socket: peer === undefined ? {} : { remoteAddress: peer },
  })

await t.test('a forwarded address must be a valid address, and is stored in its canonical form', async (t) => {
  for (const [text, read] of [
    ['192.0.2.7', '192.0.2.7'],
    [' 192.0.2.7:1234', '192.0.2.7'],
    ['[2001:db8::1]:1234', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8::1:1234', '2001:db8::1:1234'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:80', '192.0.2.7'],
    ['fe80::1%eth0', 'fe80::1'],
    [`fe80::1%${'z'.repeat(60)}`, 'fe80::1'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
    [`fe80::1%${'z'.repeat(200)}`, undefined],
    ['unknown', undefined],
    ['_hidden', undefined],
    ['192.0.2.7:', undefined],
    ['192.0.2.07', undefined],
    ['192.0.2', undefined],
    ['3221225991', undefined],
    ['[192.0.2.7', undefined],
    ['2001:db8::1]', undefined],
    ['host.example', undefined],
    ['"[2001:db8::1]"', undefined],
    ['', undefined],
    ['1'.repeat(60_000), undefined],
  ] as const)
    t.equal(addressIn(text), read, text.slice(0, 80))
})

await t.test('the client address is the one that the last trusted proxy wrote', async (t) => {
  for (const [list, address] of [
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:1, 192.0.2.8:2', '192.0.2.7'],
    ['192.0.2.9, 198.51.100.1:9, 192.0.2.7', '198.51.100.1'],
    ['192.0.2.9, [::ffff:198.51.100.1]:9', '198.51.100.1'],
    // An invalid address counts as the hop that wrote it.
    ['unknown', '10.0.0.1'],
    ['192.0.2.7, unknown, 192.0.2.8', '192.0.2.8'],
    ['x'.repeat(60_000), '10.0.0.1'],
    [`${'x'.repeat(60_000)}, 192.0.2.8`, '192.0.2.8'],
    ['', '10.0.0.1'],
    [',', '10.0.0.1'],
    [',192.0.2.8', '192.0.2.8'],
    [',,,', '10.0.0.1'],
    [undefined, '10.0.0.1'],
  ] as const)
    t.equal(comingFrom(list), address, String(list).slice(0, 80))
  t.equal(comingFrom('192.0.2.7', '198.51.100.2'), '198.51.100.2', 'a peer that is not trusted')
  t.equal(comingFrom('192.0.2.7', '::ffff:198.51.100.2'), '198.51.100.2')
  t.equal(comingFrom('192.0.2.7', undefined), '192.0.2.7')
  t.equal(clientAddress(trusts)({ headers: { 'x-forwarded-for': '192.0.2.7' }, socket: {} }), 'unknown', 'reset')
  let asked = 0
  const counting = clientAddress(() => ++asked > 0)
  const many = Array.from({ length: 10_000 }, (_, n) => `10.1.${n >> 8}.${n & 255}`).join(',')
  counting({ headers: { 'x-forwarded-for': many }, socket: { remoteAddress: '10.0.0.1' } })
  t.equal(asked, 32, 'a long list costs no more than a short one')
})

await t.test('a client is identified by a valid address without its port', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const settings = { 'server.trust_proxy': '127.0.0.0/8, 198.51.100.0/24', 'rate_limit.enabled': 'true' }
  const { request } = await startService(t, settings, { clock })
  const guess = async (forwarded: string) =>
    (await request('GET', '/auth/v1/self', undefined, { authorization: 'Bearer no', 'x-forwarded-for': forwarded }))
      .status
  for (let port = 1; port <= 300; port++)
    if ((await guess(`192.0.2.7:${port}, 198.51.100.1:${port}`)) !== 401) t.fail(`guess ${port} was refused`)
  for (const same of ['192.0.2.7', '192.0.2.7:9', '192.0.2.7, 198.51.100.1', '192.0.2.7:9,198.51.100.1:9'])
    t.equal(await guess(same), 429, same)
  t.equal(await guess('192.0.2.8:7'), 401)
  // Invalid addresses all count as the proxy in front.
  for (let n = 1; n <= 300; n++)
    if ((await guess(`hidden-${n}${'x'.repeat(n * 20)}, 198.51.100.9`)) !== 401) t.fail(`text ${n} was refused`)
  t.equal(await guess('another, 198.51.100.9'), 429)
})

await t.test('an answer that depends on the credential has a Vary header', async (t) => {
  const { request } = await startService(t, { 'cors.enabled': 'true', 'cors.allowed_origins': 'https://ui.example' })
  const vary = async (path: string, headers = {}) => (await request('GET', path, undefined, headers)).headers['vary']
  for (const path of ['/api/v1/namespaces', '/api/v1/flags', '/internal/v1/evaluation/snapshot/namespace/default'])
    t.match(await vary(path), /(^|, )authorization, cookie/, path)
  t.match(await vary('/api/v1/flags', { origin: 'https://ui.example' }), /^Origin, authorization, cookie$/)
  for (let n = 0; n < 20; n++) await request('POST', '/api/v1/flags', { key: `flag-${n}`, name: 'A name' })
  t.match(await vary('/api/v1/flags', { 'accept-encoding': 'gzip' }), /authorization, cookie, accept-encoding$/)
  for (const path of ['/livez', '/auth/v1/method']) t.notMatch(String(await vary(path)), 'authorization', path)
})
