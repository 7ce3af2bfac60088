import { networkInterfaces } from 'node:os'
import t from 'tap'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { bearer, cookiesOf, type Issued, open, refusalOf, type Settings } from './people.ts'

const SELF = '/auth/v1/self/session'
const html = { accept: 'text/html', authorization: '' }

await t.test('every address outside the API gets the same page of the web UI', async (t) => {
  const { request } = await startService(t)
  const { text, headers, status } = await request('GET', '/ns/default/flags', undefined, html)
  t.equal(status, 200)
  t.match(text, /<base href="\/" ?\/?>/)
  t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
  t.equal(headers['cache-control'], 'no-cache')
  for (const path of ['/', '/login', '/nothing/here']) t.equal((await request('GET', path, undefined, html)).text, text)
  t.equal((await request('GET', '/', undefined, { accept: 'text/html' })).text, text, 'no credential is read')
  const again = { ...html, 'if-none-match': String(headers.etag) }
  t.equal((await request('GET', '/', undefined, again)).status, 304)
  for (const path of ['/ui/x', '/api/x', '/auth/x'])
    t.equal((await request('GET', path, undefined, html)).status, 404, path)
})

await t.test('the session route returns the identity of the session, and signing out ends it', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { request } = await startService(t, {}, { clock })
  const none = await request<object>('GET', SELF, undefined, open)
  t.equal(none.status, 200)
  t.match(none.json, { authenticated: false, required: true, service: { name: 'rollcall', readOnly: false } })
  t.notMatch(none.json, { service: { version: String } }, 'no version without a session')
  const expiresAt = new Date(clock.now().getTime() + 3_600_000).toISOString()
  const { json } = await request<Issued>('POST', '/auth/v1/method/token', { name: 'n', expiresAt })
  const mine = { authorization: `Bearer ${json.clientToken}` }
  t.match((await request('GET', SELF, undefined, mine)).json, {
    authenticated: true,
    authentication: { id: json.authentication.id },
    sessionEndsAt: String,
    service: { version: String },
  })
  const { sessionEndsAt } = (await request<{ sessionEndsAt: string }>('POST', SELF, {}, mine)).json
  t.equal(sessionEndsAt, expiresAt, 'with the token')
})

for (const required of [true, false])
  await t.test(`an invalid cookie counts as no credential and is cleared; required: ${required}`, async (t) => {
    const service = await startService(t, { 'authentication.required': String(required) }, { clock: virtualClock() })
    const { request } = service
    const refused = async () =>
      Number(
        /auth_decisions_total\{result="refused",reason="credential_invalid",.*\} (\d+)/.exec(
          await service.metrics(),
        )?.[1] ?? 0,
      )
    const before = await refused()
    const ended = await request<Issued>('POST', '/auth/v1/method/token', { name: 'n' })
    await request('DELETE', `/auth/v1/tokens/${ended.json.authentication.id}`)
    for (const token of ['ju nk', ended.json.clientToken]) {
      const cookie = { ...open, cookie: `service_client_token=${token}` }
      const { status, json, headers } = await request<object>('GET', SELF, undefined, cookie)
      t.equal(status, 200)
      t.match(json, { authenticated: false, required })
      t.notOk('authentication' in json || 'sessionEndsAt' in json)
      t.equal('version' in (json as { service: object }).service, !required)
      t.match(cookiesOf({ headers })['service_client_token'], { value: '', attributes: /^Max-Age=0; Path=\/; / })
      t.equal(headers['cache-control'], 'no-store')
    }
    t.equal((await refused()) - before, 2)
    const twice = { ...open, cookie: 'service_client_token=a; service_client_token=b' }
    const both = await request('GET', SELF, undefined, twice)
    t.match(both, { status: 200, json: { authenticated: false } })
    t.equal(cookiesOf(both)['service_client_token']?.value, '')
    const junk = () => request<object>('GET', SELF, undefined, { ...open, cookie: 'service_client_token=junk' })
    await Promise.all(Array.from({ length: 298 }, junk))
    t.equal((await request('GET', '/auth/v1/self', undefined, bearer('junk'))).status, 429, 'as any failed credential')
    t.equal((await junk()).status, 429, 'and here too')
    t.match(await request('GET', SELF, undefined, open), { status: 200, json: { authenticated: false } })
  })

await t.test('no page is served without the web UI', async (t) => {
  const { request } = await startService(t, { 'ui.enabled': 'false' })
  t.equal(refusalOf(await request('GET', '/login', undefined, html)).status, 404)
})

await t.test('the service logs the public address that a browser can open', async (t) => {
  const told = async (settings: Settings): Promise<string | undefined> => {
    const service = await startService(t, settings)
    const line = (await service.logged()).split('\n').find((line) => line.includes('rollcall is listening'))!
    const { open } = JSON.parse(line) as { readonly open?: string }
    return open?.replace(service.url, 'HERE')
  }
  t.equal(await told({}), 'HERE/')
  t.equal(await told({ 'server.public_url': 'https://flags.example.com/base' }), 'https://flags.example.com/base/')
  t.equal(await told({ 'ui.enabled': 'false' }), undefined)
})

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1')
for (const host of ['::1', '[::1]', '0:0:0:0:0:0:0:1', '::', '0.0.0.0'])
  await t.test(
    `the service logs an address that a browser can open for ${host}`,
    { skip: host.includes(':') && !hasIpv6 && 'no loopback of IPv6 here' },
    async (t) => {
      const service = await startService(t, { 'server.host': host })
      const line = (await service.logged()).split('\n').find((line) => line.includes('rollcall is listening'))!
      const { open } = JSON.parse(line) as { readonly open: string }
      t.equal((await fetch(`${open}livez`)).status, 200, open)
    },
  )
