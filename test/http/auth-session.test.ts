import t, { type Test } from 'tap'
import { type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { granted } from './granted.ts'
import {
  bearer,
  begin,
  CODEHOST,
  cookiesOf,
  everyWay,
  type Issued,
  logIn,
  OIDC,
  open,
  refusalOf,
  type Settings,
} from './people.ts'
import { advanceLimits } from './rate-minutes.ts'

const SESSION = '/auth/v1/self/session'
const EXPIRES = '2100-01-01T00:00:00Z'
const TOKEN = '/auth/v1/method/token'
const cookie = (token: string): Headers => ({ ...open, cookie: `service_client_token=${token}` })
const own = { 'sec-fetch-site': 'same-origin' }

const made = async ({ request }: Started, more = {}) =>
  (await request<Issued>('POST', TOKEN, { name: 'n', ...more })).json.clientToken

await t.test('a browser can exchange a bearer token for a session cookie', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const bootstrap = { 'authentication.methods.token.bootstrap.token': 'a/token+with=every~kind.of-character_' }
  const service = await startService(t, bootstrap, { clock })
  const token = 'a/token+with=every~kind.of-character_'
  const put = await service.request(`POST`, SESSION, undefined, bearer(token))
  t.equal(put.status, 200)
  t.match(put.json, { authentication: { method: 'METHOD_TOKEN' } })
  t.notOk('clientToken' in put.json)
  t.notOk(put.headers['event-position'], 'nothing is written')
  t.match(
    cookiesOf(put)['service_client_token']!.line,
    /^service_client_token=a\/token\+with=every~kind\.of-character_; Max-Age=86400; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
  )
  t.equal((await service.request('GET', '/auth/v1/self', undefined, cookie(token))).status, 200)

  const expires = clock.now().getTime() + 100_000
  const soon = new Date(expires).toISOString()
  const short = await service.request<Issued>('POST', TOKEN, { name: 'n', expiresAt: soon }, bearer(token))
  for (const [left, seconds] of [
    [60_000, '60'],
    [59_999, '59'],
  ] as const) {
    clock.jump(expires - left - clock.now().getTime())
    const shortPut = await service.request('POST', SESSION, undefined, bearer(short.json.clientToken))
    const [, life] = /Max-Age=(\d+)/.exec(cookiesOf(shortPut)['service_client_token']!.line) ?? []
    t.equal(life, seconds, 'no longer than the token lives')
  }

  const viaCookie = await service.request('POST', SESSION, undefined, { ...cookie(token), ...own })
  t.equal(refusalOf(viaCookie).reason, 'credential_missing', 'the cookie is not looked at')
})

await t.test('a token that may be published does not return its own record', async (t) => {
  const service = await startService(t)
  const of = async (asked: object) => {
    const { headers } = await granted(service, { description: 'who made it', expiresAt: EXPIRES, ...asked })
    return (await service.request('GET', SESSION, undefined, headers)).json
  }
  for (const asked of [{ role: 'client' }, { role: 'client', namespaceKey: 'default' }]) {
    const { authenticated, sessionEndsAt, authentication, service } = await of(asked)
    t.strictSame([authenticated, authentication], [true, undefined], 'as A2 refuses it')
    t.equal(Date.parse(String(sessionEndsAt)), Date.parse(EXPIRES))
    t.notOk('version' in (service as object), 'which GET /meta/info would tell')
  }
  for (const asked of [{ role: 'server' }, {}, { namespaceKey: 'default' }])
    t.match(await of(asked), { authentication: { expiresAt: EXPIRES }, service: { version: /./ } })
})

await t.test('the number of guesses at tokens is limited', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, { 'rate_limit.enabled': 'true' }, { clock })
  const ask = async (headers: Headers) => (await service.request('GET', SESSION, undefined, headers)).status
  const statuses = new Set<number>()
  for (let n = 0; n < 300; n++) statuses.add(await ask(n % 2 ? bearer(`guess-${n}`) : cookie(`guess-${n}`)))
  t.strictSame([...statuses], [200])
  const limited = await service.request('GET', SESSION, undefined, bearer('one-more-guess'))
  t.match(refusalOf(limited), { status: 429, reason: 'rate_limited' })
  t.match(limited.headers['retry-after'], /^\d+$/)
  t.equal(await ask(cookie('one-more-guess')), 429)
  t.equal(await ask({}), 200, 'a valid token is never refused for it')
  t.equal(await ask(open), 200, 'nor is who has none')
  await advanceLimits(clock, 60_000)
  t.equal(await ask(bearer('one-more-guess')), 200)
})

await t.test('signing out ends the session but not the token', async (t) => {
  const service = await startService(t)
  const token = await made(service)
  const rows: readonly (readonly [string, Headers, number])[] = [
    ['nothing sent', open, 200],
    ['from our page', { ...cookie(token), ...own }, 200],
    ['a cookie that is no token', { ...cookie('ju nk'), ...own }, 200],
    ['two cookies', { ...open, ...own, cookie: 'service_client_token=a; service_client_token=b' }, 200],
    ['two cookies from elsewhere', { ...open, cookie: 'service_client_token=; service_client_token=b' }, 403],
    ['an empty cookie', cookie(''), 200],
    ['from elsewhere', cookie(token), 403],
    ['an unusable cookie from elsewhere', cookie('ju nk'), 403],
    ['as bearer', { ...bearer('junk'), cookie: `service_client_token=${token}` }, 200],
  ]
  for (const [name, headers, status] of rows) {
    const answer = await service.request('DELETE', SESSION, undefined, headers)
    t.equal(answer.status, status, name)
    if (status === 200)
      t.match(cookiesOf(answer)['service_client_token'], { value: '', attributes: /^Max-Age=0; Path=\/;/ }, name)
    else {
      t.equal(refusalOf(answer).reason, 'cross_site', name)
      t.notOk(answer.headers['set-cookie'], name)
    }
  }
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 200)
})

await t.test('a request with credentials in two places is refused', async (t) => {
  const service = await startService(t)
  const token = await made(service)
  const rows: readonly (readonly [string, Headers, number, string?])[] = [
    ['none', open, 401, 'credential_missing'],
    ['bearer', bearer(token), 200],
    ['bearer in any case, with several spaces', { authorization: `bEaReR   ${token}` }, 200],
    ['cookie', cookie(token), 200],
    ['cookie among others', { ...open, cookie: `a=1; service_client_token=${token}; xservice_client_token=x` }, 200],
    ['an empty cookie', cookie(''), 401, 'credential_missing'],
    ['a bad bearer beside a good cookie', { ...cookie(token), ...bearer('bad') }, 401, 'credential_invalid'],
    [
      'another scheme beside a good cookie',
      { ...cookie(token), authorization: 'Basic eDp5' },
      401,
      'credential_invalid',
    ],
    ['JWT', { authorization: `JWT ${token}` }, 401, 'credential_invalid'],
    ['an empty bearer', { authorization: 'Bearer ' }, 401, 'credential_invalid'],
    ['no scheme', { authorization: token }, 401, 'credential_invalid'],
    ['something behind it', { authorization: `Bearer ${token} x` }, 401, 'credential_invalid'],
    ['a changed token', bearer(`${token.slice(0, -1)}!`), 401, 'credential_invalid'],
    ['two headers', { authorization: [`Bearer ${token}`, `Bearer ${token}`] }, 400, 'duplicate_credential'],
    [
      'two cookies',
      { ...open, cookie: `service_client_token=${token}; service_client_token=${token}` },
      400,
      'duplicate_credential',
    ],
  ]
  for (const [name, headers, status, reason] of rows) {
    const answer = await service.request('GET', '/auth/v1/self', undefined, headers)
    t.equal(answer.status, status, name)
    t.equal(refusalOf(answer).reason, reason, name)
    const challenge = {
      credential_missing: 'Bearer realm="rollcall"',
      credential_invalid: 'Bearer realm="rollcall", error="invalid_token"',
    }
    t.equal(answer.headers['www-authenticate'], challenge[reason as keyof typeof challenge], name)
    if (status === 400) t.match(refusalOf(answer), { code: 3, message: 'credential given twice' }, name)
    if (name !== 'two cookies') t.notOk(answer.headers['set-cookie'], name)
  }
  const stale = await service.request('GET', '/auth/v1/self', undefined, cookie('no token'))
  t.match(cookiesOf(stale)['service_client_token'], {
    value: '',
    attributes: /^Max-Age=0; Path=\/; .*HttpOnly; SameSite=Strict$/,
  })
  for (const query of ['token', 'access_token', 'client_token'])
    t.equal(
      (await service.request('GET', `/auth/v1/self?${query}=${token}`, undefined, open)).status,
      401,
      'never in the query',
    )
})

await t.test('if a browser has two session cookies, both are cleared', async (t) => {
  const service = await startService(t, {
    'server.public_url': 'https://flags.team.example.com/base',
    'authentication.session.domain': 'team.example.com',
  })
  const cleared = async (host: string) => {
    const cookie = `service_client_token=${service.token}; service_client_token=planted`
    const answer = await service.request('GET', '/auth/v1/self', undefined, { ...open, cookie, host })
    t.match(refusalOf(answer), { status: 400, reason: 'duplicate_credential' })
    const set = answer.headers['set-cookie'] ?? []
    for (const line of set) t.match(line, /^service_client_token=; Max-Age=0; .*HttpOnly; Secure; SameSite=Strict$/)
    return set.map((line) => `${/Domain=([^;]+)/.exec(line)?.[1] ?? ''} ${/Path=([^;]+)/.exec(line)?.[1]}`).toSorted()
  }
  const domains = ['', 'example.com', 'flags.team.example.com', 'team.example.com']
  t.strictSame(
    await cleared('flags.team.example.com:8080'),
    domains.flatMap((domain) => [`${domain} /`, `${domain} /base`]),
  )
  for (const host of ['127.0.0.1:8080', '[::1]', 'localhost'])
    t.strictSame(await cleared(host), [' /', ' /base', 'team.example.com /', 'team.example.com /base'], host)
  t.ok((await cleared(`${'a.'.repeat(100)}example.com`)).length <= 12)
})

await t.test('a refused write of a foreign page is logged with the addresses that differ, once a minute', async (t) => {
  const told = async (service: Started) =>
    (await service.logged())
      .split('\n')
      .filter((line) => line.includes('of a web page is refused'))
      .map((line) => JSON.parse(line) as object)
  for (const [publicUrl, more] of [
    ['not set', {}],
    ['https://inner.example.com', { 'server.public_url': 'https://inner.example.com' }],
  ] as const) {
    const service = await startService(t, more)
    const headers = { ...cookie(await made(service)), origin: 'https://flags.example.com', host: '10.0.0.7:8080' }
    for (const [method, path] of [
      ['POST', TOKEN],
      ['DELETE', SESSION],
    ] as const)
      t.equal((await service.request(method, path, undefined, headers)).status, 403)
    t.match(await told(service), [
      {
        level: 'WARN',
        origin: 'https://flags.example.com',
        protocol: 'http',
        host: '10.0.0.7:8080',
        publicUrl,
        msg: /set server\.public_url to the address that browsers use/,
      },
    ])
  }
  const anybody = await startService(t, { 'authentication.required': 'false', 'server.allowed_hosts': 'a.example' })
  const page = { ...open, origin: 'https://evil.example' }
  t.equal((await anybody.request('DELETE', `/auth/v1/tokens/x`, undefined, page)).status, 403)
  t.match(await told(anybody), [{ origin: 'https://evil.example' }])
  const ended = await startService(t)
  const own = { ...cookie(await made(ended)), origin: 'https://flags.example.com' }
  t.equal((await ended.request('DELETE', SESSION, undefined, own)).status, 403)
  t.equal((await told(ended)).length, 1, 'the end of a session')
})

await t.test("a write with a session cookie must come from the service's own pages", async (t) => {
  const service = await startService(t, {
    'server.public_url': 'https://flags.example.com/base',
    'authentication.session.csrf.trusted_origins': 'https://admin.example.com',
  })
  const token = await made(service)
  const rows: readonly (readonly [Headers, boolean])[] = [
    [{}, false],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://admin.example.com' }, true],
    [{ origin: 'https://flags.example.com' }, true],
    [{ origin: 'https://flags.example.com.evil.example' }, false],
    [{ origin: 'http://flags.example.com' }, false],
    [{ origin: 'null' }, false],
    [{ origin: service.url }, false],
  ]
  for (const [headers, accepted] of rows) {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      const answer = await service.request(
        'POST',
        TOKEN,
        { name: 'n' },
        { ...cookie(token), 'content-type': type, ...headers },
      )
      t.equal(answer.status, accepted ? 200 : 403, `${JSON.stringify(headers)} ${type}`)
      if (!accepted) t.match(refusalOf(answer), { code: 7, reason: 'cross_site', message: 'permission denied' })
    }
  }
  t.equal((await service.request('GET', '/auth/v1/self', undefined, cookie(token))).status, 200, 'reads need no proof')
  t.equal((await service.request('POST', TOKEN, { name: 'n' }, bearer(token))).status, 200, 'nor does a bearer')

  const here = await startService(t)
  const mine = await made(here)
  t.equal(
    (await here.request('POST', TOKEN, { name: 'n' }, { ...cookie(mine), origin: here.url })).status,
    200,
    'without public_url: the address asked',
  )
})

const attributes = async (t: Test, settings: Settings, headers: Headers = {}) => {
  const { service } = await everyWay(t, settings)
  const { answer } = await begin(service, OIDC, '', headers)
  const [state] = Object.values(cookiesOf(answer))
  const { json } = await service.request<{ methods: { metadata?: { authorize_url?: string } }[] }>(
    'GET',
    '/auth/v1/method',
    undefined,
    {
      ...open,
      ...headers,
    },
  )
  const session = await service.request('POST', SESSION, undefined, headers)
  const strip = (text: string) => text.replace(/Expires=[^;]+; /, '')
  return {
    token: strip(cookiesOf(session)['service_client_token']!.attributes),
    state: strip(state!.attributes),
    path: json.methods[1]!.metadata!.authorize_url,
  }
}

await t.test('cookies have the configured attributes', async (t) => {
  const forwarded = { 'x-forwarded-prefix': '/outer', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }
  const rows: readonly (readonly [string, Settings, Headers, Awaited<ReturnType<typeof attributes>>])[] = [
    [
      'https, a base path, a domain',
      {
        'server.public_url': 'https://flags.example.com/base/',
        'authentication.session.domain': 'https://example.com:8443',
      },
      forwarded,
      {
        token: 'Max-Age=86400; Domain=example.com; Path=/base; HttpOnly; Secure; SameSite=Strict',
        state: 'Max-Age=4200; Domain=example.com; Path=/base/auth/v1/method/oidc/main; HttpOnly; Secure; SameSite=Lax',
        path: '/base/auth/v1/method/codehost/authorize',
      },
    ],
    [
      'http, localhost, a trusted proxy',
      {
        'server.public_url': 'http://localhost:8080',
        'authentication.session.domain': 'localhost',
        'authentication.session.token_lifetime': '90s',
        'authentication.session.state_lifetime': '500ms',
        'server.trust_proxy': '127.0.0.1',
      },
      forwarded,
      {
        token: 'Max-Age=90; Path=/outer; HttpOnly; SameSite=Strict',
        state: 'Max-Age=3600; Path=/auth/v1/method/oidc/main; HttpOnly; SameSite=Lax',
        path: '/outer/auth/v1/method/codehost/authorize',
      },
    ],
    [
      'a proxy that is not ours, a redirect address of its own',
      {
        'server.trust_proxy': '10.0.0.0/8,::2',
        'authentication.session.secure': 'false',
        'authentication.methods.oidc.providers.main.redirect_address': 'https://flags.example.com/in',
      },
      forwarded,
      {
        token: 'Max-Age=86400; Path=/; HttpOnly; SameSite=Strict',
        state: 'Max-Age=4200; Path=/in/auth/v1/method/oidc/main; HttpOnly; SameSite=Lax',
        path: '/auth/v1/method/codehost/authorize',
      },
    ],
    [
      'a prefix that is no plain path',
      { 'server.trust_proxy': 'true' },
      { 'x-forwarded-prefix': '//evil.example/?' },
      {
        token: 'Max-Age=86400; Path=/; HttpOnly; Secure; SameSite=Strict',
        state: 'Max-Age=4200; Path=/auth/v1/method/oidc/main; HttpOnly; Secure; SameSite=Lax',
        path: '/auth/v1/method/codehost/authorize',
      },
    ],
  ]
  for (const [name, settings, headers, expected] of rows) {
    await t.test(name, async (t) => t.strictSame(await attributes(t, settings, headers), expected))
  }
})

await t.test('after a login the browser returns only to a path of this service', async (t) => {
  const { service } = await everyWay(t, {
    'server.public_url': 'https://flags.example.com/base',
    'server.trust_proxy': 'true',
  })
  const rows: readonly (readonly [string, string])[] = [
    ['', '/base/'],
    ['/base/flags?x=1#y', '/base/flags?x=1#y'],
    ['/elsewhere', '/elsewhere'],
    ['//evil.example', '/base/'],
    ['/\\evil.example', '/base/'],
    ['https://evil.example', '/base/'],
    ['https:evil.example', '/base/'],
    ['/a\r\nSet-Cookie: x=1', '/base/'],
    ['/a b', '/base/'],
    ['/é', '/base/'],
    ['/a\\b', '/base/'],
    ...[
      '/..//evil',
      '/.//evil',
      '/a/../b',
      '/a/..',
      '/a/./b',
      '/.',
      '/a//b',
      '/a//',
      '/%2e%2e/x',
      '/.%2E//evil',
      '/%2e/x',
      '/..?x',
      '/..#x',
    ].map((path) => [path, '/base/'] as const),
    ['/a/?x=//..//', '/a/?x=//..//'],
    ['/..a/.b/c../%2fd', '/..a/.b/c../%2fd'],
    [`/${'x'.repeat(2047)}`, `/${'x'.repeat(2047)}`],
    [`/${'x'.repeat(2048)}`, '/base/'],
  ]
  for (const [path, location] of rows) {
    const { authorizeUrl, cookie } = await begin(service, CODEHOST, `?return_to=${encodeURIComponent(path)}`, {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
    })
    t.equal(
      authorizeUrl.searchParams.get('redirect_uri'),
      `https://flags.example.com/base${CODEHOST}/callback`,
      'from configuration only',
    )
    const back = await fetch(authorizeUrl, { redirect: 'manual' })
    const query = new URL(back.headers.get('location')!).searchParams
    const answer = await service.request('GET', `${CODEHOST}/callback?${String(query)}`, undefined, {
      ...open,
      cookie,
      host: 'evil.example',
    })
    t.equal(answer.status, 302)
    t.equal(answer.headers.location, location, path.slice(0, 40))
    t.match(answer.headers['event-position'], /^\d+$/)
  }
  t.equal(
    (await service.request('GET', `${CODEHOST}/authorize?return_to=/a&return_to=/b`, undefined, open)).status,
    400,
  )
  const { authorizeUrl } = await begin(service, CODEHOST, '?state=fixed')
  t.not(authorizeUrl.searchParams.get('state'), 'fixed', 'a state of the client is ignored')
})

await t.test('logins have a rate limit of their own, and a limited request does not end a login', async (t) => {
  const { service } = await everyWay(t, { 'rate_limit.enabled': 'true' }, { clock: virtualClock() })
  const { authorizeUrl, cookie } = await begin(service, CODEHOST)
  const back = await fetch(authorizeUrl, { redirect: 'manual' })
  for (let n = 0; n < 59; n++) await service.request('GET', `${CODEHOST}/callback`, undefined, open)
  const search = new URL(back.headers.get('location')!).search
  const limited = await service.request('GET', `${CODEHOST}/callback${search}`, undefined, {
    ...open,
    accept: 'text/html',
  })
  t.match(limited, { status: 302, headers: { location: /^\/login\?error=rate_limited&ref=/, 'retry-after': '60' } })
  const finished = await service.request('GET', `${CODEHOST}/callback${search}`, undefined, { ...open, cookie })
  t.equal(finished.status, 302, 'who has begun is let in')
  t.equal((await service.request('GET', `${OIDC}/authorize`, undefined, open)).status, 429)
  t.equal((await service.request('GET', '/auth/v1/self')).status, 200)
})

await t.test('the session of a login lasts as long as its token', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service } = await everyWay(t, { 'authentication.session.token_lifetime': '2h' }, { clock })
  const { answer, authentication } = await logIn(service, CODEHOST, { accept: 'text/html' })
  t.equal(answer.status, 302)
  const life = Date.parse(authentication.expiresAt!) - Date.parse(authentication.createdAt)
  t.equal(life, 7_200_000)
  t.match(cookiesOf(answer)['service_client_token']!.attributes, /^Max-Age=7200; /)
  const forms: readonly (readonly [string | undefined, number])[] = [
    [undefined, 302],
    ['*/*', 302],
    ['application/json', 200],
    ['Application/JSON, */*', 200],
    ['application/json, text/html', 302],
  ]
  for (const [accept, status] of forms)
    t.equal(
      (await logIn(service, CODEHOST, accept === undefined ? {} : { accept })).answer.status,
      status,
      accept ?? 'no Accept',
    )
})
