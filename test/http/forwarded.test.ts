import t from 'tap'
import { withoutPorts } from '../../src/http/wire/framing.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'

type Line = { readonly level: string; readonly msg: string }
const FORWARDED = /^forwarded headers come from a peer that server\.trust_proxy does not name/
/** Asks the service with forwarded headers; gives the levels of the lines that tell of it. */
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

await t.test('forwarded headers that are not trusted are told once, and never the address', async (t) => {
  t.same(await told(t, {}), ['WARN'])
  t.same(await told(t, { 'server.trust_proxy': '10.0.0.0/8' }), ['WARN'])
  t.same(await told(t, { 'authentication.open_on_purpose': 'forwarded' }), ['INFO'])
  t.same(await told(t, { 'server.trust_proxy': '127.0.0.0/8' }), [])
  t.same(await told(t, { 'server.trust_proxy': 'true' }), [])
})

await t.test('addresses are read without the ports and brackets that some proxies write', async (t) => {
  for (const [list, read] of [
    ['198.51.100.7:1234', '198.51.100.7'],
    ['198.51.100.7', '198.51.100.7'],
    ['[2001:db8::1]:1234', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:db8::1:1234', '2001:db8::1:1234'],
    ['203.0.113.1:1,198.51.100.7:2 , 2001:db8::1', '203.0.113.1, 198.51.100.7, 2001:db8::1'],
    ['unknown', 'unknown'],
    ['', ''],
  ] as const)
    t.equal(withoutPorts(list), read, list)
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
})

await t.test('what may differ by credential says so to caches', async (t) => {
  const { request } = await startService(t, { 'cors.enabled': 'true', 'cors.allowed_origins': 'https://ui.example' })
  const vary = async (path: string, headers = {}) => (await request('GET', path, undefined, headers)).headers['vary']
  for (const path of ['/api/v1/namespaces', '/api/v1/flags', '/internal/v1/evaluation/snapshot/namespace/default'])
    t.match(await vary(path), /(^|, )authorization, cookie/, path)
  t.match(await vary('/api/v1/flags', { origin: 'https://ui.example' }), /^Origin, authorization, cookie$/)
  for (let n = 0; n < 20; n++) await request('POST', '/api/v1/flags', { key: `flag-${n}`, name: 'A name' })
  t.match(await vary('/api/v1/flags', { 'accept-encoding': 'gzip' }), /authorization, cookie, accept-encoding$/)
  for (const path of ['/livez', '/auth/v1/method']) t.notMatch(String(await vary(path)), 'authorization', path)
})
