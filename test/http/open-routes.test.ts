import t from 'tap'
import { startService } from '../start.ts'
import { eventsOf } from './events-of.ts'

type Headers = Readonly<Record<string, string>>
const anybody: Headers = { authorization: '' }
const text: Headers = { ...anybody, 'content-type': 'text/plain' }
const EVIL = 'https://evil.example'
/** Headers of a foreign page. */
const foreign: readonly Headers[] = [
  { origin: EVIL, 'sec-fetch-site': 'cross-site' },
  { origin: EVIL },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://trusted.example.evil.example', 'sec-fetch-site': 'same-site' },
]
const ours: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'same-origin', origin: 'https://flags.example.com' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://flags.example.com' },
  { origin: 'https://trusted.example', 'sec-fetch-site': 'cross-site' },
  { origin: 'https://ui.example', 'sec-fetch-site': 'cross-site' },
]
const settings = {
  'authentication.required': 'false',
  'server.public_url': 'https://flags.example.com',
  'authentication.session.csrf.trusted_origins': 'https://trusted.example',
  'cors.enabled': 'true',
  'cors.allowed_origins': 'https://ui.example',
}
const asked = { flagKey: 'f', entityId: 'e', context: {} }

await t.test('an open route refuses writes from pages of other hosts', async (t) => {
  const service = await startService(t, settings)
  const { request } = service
  await request('POST', '/api/v1/flags', { key: 'f', name: 'f', enabled: true, type: 'BOOLEAN_FLAG_TYPE' })
  const mine = (await request<{ authentications: { id: string }[] }>('GET', '/auth/v1/tokens')).json.authentications[0]!
    .id
  let n = 0
  const writes = (): readonly (readonly [string, string, object?])[] => [
    ['POST', '/auth/v1/method/token', { name: 'theirs' }],
    ['POST', '/api/v1/flags', { key: `g${++n}`, name: 'g' }],
    ['PUT', '/api/v1/flags/f', { name: 'f', enabled: true }],
    ['DELETE', `/auth/v1/tokens/${mine.replace(/.$/, 'x')}`],
    ['POST', '/evaluate/v1/boolean', asked],
  ]
  for (const headers of foreign) {
    for (const [method, path, body] of writes()) {
      for (const credential of [
        text,
        { ...text, authorization: 'Bearer nonsense' },
        { ...text, cookie: 'service_client_token=old' },
      ]) {
        const { status, json } = await request(method, path, body, { ...credential, ...headers })
        t.match(
          [status, json],
          [403, { code: 7, message: 'permission denied', details: [{ value: { reason: 'cross_site' } }] }],
          `${method} ${path}`,
        )
      }
    }
    t.equal(
      (await request('POST', '/ofrep/v1/evaluate/flags/f', { context: { targetingKey: 'e' } }, { ...text, ...headers }))
        .status,
      403,
    )
    t.equal(
      (await request('GET', '/api/v1/flags', undefined, { ...anybody, ...headers })).status,
      200,
      'reads are for CORS to keep',
    )
    t.equal(
      (await request('PUT', '/api/v1/flags/f', { name: 'f', enabled: true }, headers)).status,
      200,
      'a credential is a proof',
    )
    t.equal((await request('POST', '/evaluate/v1/boolean', asked, headers)).status, 200)
  }
  for (const headers of ours)
    for (const [method, path, body] of writes())
      t.equal((await request(method, path, body, { ...text, ...headers })).status, 200, path)
  const { text: page } = await request('GET', '/metrics')
  t.match(page, `rollcall_auth_decisions_total{result="refused",reason="cross_site",method=""} ${foreign.length * 16}`)
  await service.close()
  const summary = (await eventsOf(service.directory)).filter(({ type }) => type === 'RefusalsSummarised')
  t.match(summary.at(-1), { data: { byReason: { cross_site: foreign.length * 16 } } })
})

await t.test('with CORS for every origin all pages may evaluate flags, and none may write', async (t) => {
  const { request } = await startService(t, { ...settings, 'cors.allowed_origins': '*' })
  await request('POST', '/api/v1/flags', { key: 'f', name: 'f', enabled: true, type: 'BOOLEAN_FLAG_TYPE' })
  const page = { ...anybody, origin: EVIL, 'sec-fetch-site': 'cross-site' }
  for (const [path, body] of [
    ['/evaluate/v1/boolean', asked],
    ['/evaluate/v1/batch', { requests: [asked] }],
    ['/ofrep/v1/evaluate/flags', { context: { targetingKey: 'e' } }],
  ] as const) {
    const { status, headers } = await request('POST', path, body, page)
    t.same([status, headers['access-control-allow-origin']], [200, '*'], path)
  }
  t.equal((await request('POST', '/api/v1/flags', { key: 'g', name: 'g' }, page)).status, 403)
  t.equal((await request('POST', '/auth/v1/method/token', { name: 'x' }, page)).status, 403)
})

await t.test('an open group of routes is also closed to pages of other hosts', async (t) => {
  const { request } = await startService(t, {
    'authentication.exclude.management': 'true',
    'authentication.exclude.ofrep': 'true',
  })
  const page = { ...anybody, origin: EVIL, 'sec-fetch-site': 'cross-site' }
  t.equal((await request('POST', '/api/v1/flags', { key: 'g', name: 'g' }, page)).status, 403)
  t.equal((await request('POST', '/api/v1/flags', { key: 'g', name: 'g' }, anybody)).status, 200)
  t.equal((await request('POST', '/api/v1/evaluate', { flagKey: 'g' }, page)).status, 403)
  t.equal((await request('POST', '/ofrep/v1/evaluate/flags', {}, page)).status, 403)
  t.equal((await request('POST', '/auth/v1/method/token', { name: 'x' }, page)).status, 401, 'not open')
})
