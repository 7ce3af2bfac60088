import { hostname } from 'node:os'
import t from 'tap'
import { ownHost } from '../../src/http/auth/own-host.ts'
import { startService } from '../start.ts'

const anybody = { authorization: '' }
const EVIL = 'http://evil.example'
/** Headers of a page on a rebound host name, which is foreign only by its name. */
const rebound = { ...anybody, host: 'evil.example:8080', origin: EVIL, 'sec-fetch-site': 'same-origin' }
const refused = {
  status: 403,
  json: { code: 7, message: 'this host is not allowed', details: [{ value: { reason: 'host_not_allowed' } }] },
}

await t.test('own host names are names that only the operator can point to this service', (t) => {
  const isOwn = ownHost('https://Flags.Example.com/base', ['other.example', '.below.example'])
  const ours = [
    undefined,
    '',
    'localhost',
    'LOCALHOST:8080',
    'app.localhost',
    'rollcall',
    'rollcall:8080',
    hostname(),
    '127.0.0.1:8080',
    '10.1.2.3',
    '[::1]:8080',
    '[fe80::1]',
    'flags.example.com',
    'flags.example.com.:443',
    'other.example:1',
    'a.below.example',
    'a.b.BELOW.example',
  ]
  for (const host of ours) t.equal(isOwn(host), true, String(host))
  const foreign = [
    'evil.example',
    'flags.example.com.evil.example',
    'xflags.example.com',
    'below.example',
    'xbelow.example',
    'sub.other.example',
    '127.0.0.1.evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '1.2.3',
  ]
  for (const host of foreign) t.equal(isOwn(host), false, host)
  t.end()
})

await t.test('an open deployment refuses requests under a host name that is not its own', async (t) => {
  const service = await startService(t, {
    'authentication.required': 'false',
    'server.public_url': 'https://flags.example.com',
    'server.allowed_hosts': 'other.example',
  })
  const { request } = service
  const asked = [
    ['POST', '/auth/v1/method/token', { name: 'theirs' }],
    ['GET', '/auth/v1/tokens'],
    ['GET', '/auth/v1/self/session'],
    ['GET', '/api/v1/flags'],
    ['POST', '/evaluate/v1/boolean', { flagKey: 'f' }],
  ] as const
  for (const [method, path, body] of asked) {
    t.match(await request(method, path, body, rebound), refused, `${method} ${path}`)
    t.match(await request(method, path, body, { ...rebound, authorization: 'Bearer nonsense' }), refused)
  }
  for (const host of ['flags.example.com', 'other.example', 'localhost', 'rollcall:8080'])
    t.equal((await request('GET', '/api/v1/flags', undefined, { ...anybody, host })).status, 200, host)
  t.equal((await request('GET', '/api/v1/flags', undefined, { host: 'evil.example' })).status, 200, 'a token is proof')
  const told = (await service.logged()).split('\n').filter((line) => line.includes('server.allowed_hosts'))
  t.equal(told.length, 1, 'the operator reads it once')
  t.match(JSON.parse(told[0]!), { level: 'WARN', host: 'evil.example:8080' })
})

await t.test('only open management routes check the host name of a request', async (t) => {
  const { request } = await startService(t, { 'authentication.exclude.management': 'true' })
  t.match(await request('GET', '/api/v1/flags', undefined, rebound), refused)
  const guarded = await startService(t, { 'authentication.exclude.evaluation': 'true' })
  const evaluation = await guarded.request('POST', '/evaluate/v1/boolean', { flagKey: 'f' }, rebound)
  t.equal(evaluation.status, 404)
})
