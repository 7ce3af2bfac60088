import t, { type Test } from 'tap'
import { json } from '../auth/stand-ins/listen.ts'
import { type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventsOf } from './events-of.ts'
import { begin, CODEHOST, codehostSettings, everyWay, OIDC, open, PUBLIC, refusalOf, visit } from './people.ts'

const page = { ...open, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const plain = { ...open, accept: 'application/json' }

/** Answers of an address to a browser and to a program. */
const answers = async ({ request }: Started, path: string, headers: Readonly<Record<string, string>> = {}) => ({
  browser: await request('GET', path, undefined, { ...page, 'x-request-id': 'seen', ...headers }),
  program: await request('GET', path, undefined, { ...plain, ...headers }),
})

const sentToLogin = async (
  t: Test,
  service: Started,
  path: string,
  { error, status, headers }: { error: string; status: number; headers?: Readonly<Record<string, string>> },
) => {
  const { browser, program } = await answers(service, path, headers)
  t.equal(browser.status, 302, path)
  t.equal(browser.headers.location, `/login?error=${error}&ref=seen`, path)
  t.equal(browser.headers['cache-control'], 'no-store', path)
  t.equal(browser.text, '', `${path}: nothing that a person would read in its place`)
  t.equal(program.status, status, `${path}: as JSON to a program`)
  t.match(program.headers['content-type'], 'application/json')
}

await t.test('a login callback never shows JSON to a browser, whatever error comes first', async (t) => {
  const { service } = await everyWay(t)
  await sentToLogin(t, service, '/auth/v1/method/oidc/nobody/callback?code=a&state=b', {
    error: 'not_found',
    status: 404,
  })
  await sentToLogin(t, service, '/auth/v1/method/oidc//callback', { error: 'invalid_argument', status: 400 })
  for (const way of [OIDC, CODEHOST]) {
    await sentToLogin(t, service, `${way}/callback?code=a&code=b`, { error: 'invalid_argument', status: 400 })
    await sentToLogin(t, service, `${way}/callback/`, { error: 'state_missing', status: 401 })
  }
  for (const path of ['/auth/v1/method/oidc/callback', `${CODEHOST}/x/callback`, `${OIDC}/callbacks`])
    t.equal((await service.request('GET', path, undefined, page)).status, 404, `${path} is no callback`)
  t.equal((await service.request('POST', `${OIDC}/callback`, {}, page)).status, 405)
})

await t.test('a login method that is disabled during a login gets 404, as a page and as JSON', async (t) => {
  const first = await everyWay(t)
  const { authorizeUrl, cookie } = await begin(first.service, OIDC, '?return_to=/settings/tokens')
  const query = await visit(authorizeUrl)
  const { directory } = first.service
  await first.service.close()
  const service = await startService(t, { 'server.public_url': PUBLIC }, { directory })
  for (const way of [OIDC, CODEHOST]) {
    const { browser, program } = await answers(service, `${way}/callback?${String(query)}`, { cookie })
    t.match(browser.headers.location, '/login?error=not_found&ref=seen&return_to=%2Fsettings%2Ftokens', way)
    t.match(refusalOf(program), { status: 404, reason: 'route_not_found' })
  }
  t.equal((await service.request('POST', `${OIDC}/callback`, {}, page)).status, 404, 'there is no route')
  t.match(await service.logged(), /"requestId":"seen".*"reason":"route_not_found".*a login was refused/)
  await service.close()
  const told = await eventsOf(directory, ({ type }) => type === 'AuthenticationRefused')
  t.match(
    told.map(({ data }) => data),
    [
      { reason: 'route_not_found', requestId: 'seen' },
      { reason: 'route_not_found', requestId: 'seen' },
    ],
  )
})

await t.test('a page reports too many callbacks, with the request id that the log has', async (t) => {
  const { service } = await everyWay(t, { 'rate_limit.enabled': 'true' }, { clock: virtualClock() })
  for (let n = 0; n < 60; n++) await service.request('GET', `${CODEHOST}/callback`, undefined, page)
  for (let n = 0; n < 30; n++)
    await service.request('GET', `${OIDC}/callback`, undefined, { ...page, 'x-request-id': `limited-${n}` })
  const { browser, program } = await answers(service, `${CODEHOST}/callback`)
  t.match(browser.headers, { location: '/login?error=rate_limited&ref=seen', 'retry-after': '60' })
  t.equal(program.status, 429)
  const lines = (await service.logged()).split('\n').filter((line) => line.includes('"reason":"rate_limited"'))
  t.equal(lines.length, 5, 'the number of log lines is limited')
  t.match(lines[0], /"requestId":"limited-0","method":"oidc".*a login was refused/)
  await service.close()
  const told = await eventsOf(
    service.directory,
    ({ type, data }) => type === 'AuthenticationRefused' && data['reason'] === 'rate_limited',
  )
  t.strictSame(
    told.map(({ data }) => data['requestId']),
    [0, 1, 2, 3, 4].map((n) => `limited-${n}`),
  )
})

await t.test('a defect during a login is shown as a page and counted as a defect', async (t) => {
  let broken = false
  /** The clock fails for the end of a login only. */
  const now = () => {
    const fails = broken && new Error('caller').stack?.includes('complete-login')
    if (fails) broken = false
    return fails ? new Date(Number.NaN) : new Date()
  }
  const { service, host } = await everyWay(t, {}, { now })
  const errors = async () => Number(/^rollcall_server_errors_total (\d+)$/m.exec(await service.metrics())?.[1])
  const before = await errors()
  const failing = async (accept: Readonly<Record<string, string>>) => {
    const { authorizeUrl, cookie } = await begin(service, CODEHOST)
    const query = await visit(authorizeUrl)
    host.lies['/api/user'] = (response) => {
      broken = true
      return json(200, host.user)(response)
    }
    return service.request('GET', `${CODEHOST}/callback?${String(query)}`, undefined, { ...accept, cookie })
  }
  t.match(refusalOf(await failing(plain)), { status: 500, reason: 'internal' })
  const answer = await failing({ ...page, 'x-request-id': 'seen' })
  t.match(answer, { status: 302, headers: { location: '/login?error=internal&ref=seen&return_to=%2F' } })
  t.equal((await errors()) - before, 2)
  t.match(await service.logged(), /"level":"ERROR".*"requestId":"seen".*a request failed/)
})

await t.test('redirects after a login contain the base path, and go to a page only with the web UI', async (t) => {
  const { service } = await everyWay(t, {
    'server.public_url': 'https://flags.example.com/base',
    'server.trust_proxy': 'true',
  })
  const forwarded = { 'x-forwarded-prefix': '/outer' }
  const { browser } = await answers(service, '/auth/v1/method/oidc/nobody/callback', forwarded)
  t.equal(browser.headers.location, '/outer/base/login?error=not_found&ref=seen')

  const bare = await everyWay(t, { 'ui.enabled': 'false' })
  for (const path of [
    '/auth/v1/method/oidc/nobody/callback',
    `${OIDC}/callback`,
    `${CODEHOST}/callback?code=x&code=y`,
  ]) {
    const { browser, program } = await answers(bare.service, path)
    t.strictSame(refusalOf(browser), refusalOf(program), path)
    t.ok(browser.status >= 400, path)
  }
  const off = await startService(t, { 'ui.enabled': 'false' })
  t.equal((await off.request('GET', `${OIDC}/callback`, undefined, page)).status, 404)
})

await t.test('a code host with a configured name has its login callback under this name', async (t) => {
  const { host } = await everyWay(t)
  const service = await startService(t, {
    'server.public_url': PUBLIC,
    'identifiers.codehost': 'github',
    ...codehostSettings(host.url),
  })
  await sentToLogin(t, service, '/auth/v1/method/github/callback', { error: 'state_missing', status: 401 })
  t.equal((await service.request('GET', `${CODEHOST}/callback`, undefined, page)).status, 404)
})
