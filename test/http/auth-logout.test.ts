import t, { type Test } from 'tap'
import { json } from '../auth/stand-ins/listen.ts'
import { asksForPassword, type Cookies, realProvider, signIn, signOut } from '../auth/stand-ins/provider.ts'
import { type Headers, type Response, type Started, startService } from '../start.ts'
import {
  bearer,
  begin,
  CODEHOST,
  comeBack,
  cookiesOf,
  everyWay,
  logIn,
  OIDC,
  oidcSettings,
  open,
  PUBLIC,
  type Settings,
} from './people.ts'

const EXPIRE = '/auth/v1/self/expire'
const AT = 'authentication.methods.oidc.providers.main'
const BACK = `${PUBLIC}${OIDC}/post-logout`
const STORED = 'service_client_state'
const client = { clientId: 'rollcall', clientSecret: 'canary-oidc-secret' }
const toProvider = { [`${AT}.logout`]: 'provider' }
const keeping = { ...toProvider, [`${AT}.keep_id_token`]: 'true' }

type Out = { readonly logoutUrl?: string }

/** Signs out as the web UI does, with the cookies of the browser. */
const leave = ({ request }: Started, token: string, stored?: string, search = ''): Promise<Response<Out>> =>
  request<Out>('PUT', `${EXPIRE}${search}`, undefined, {
    ...open,
    'sec-fetch-site': 'same-origin',
    cookie: `service_client_token=${token}${stored === undefined ? '' : `; ${STORED}=${stored}`}`,
  })

/** Returns from the provider; the address of the redirect. */
const goBack = async ({ request }: Started, search: string, headers: Headers = {}) => {
  const answer = await request('GET', `${OIDC}/post-logout${search}`, undefined, {
    ...open,
    accept: 'text/html',
    ...headers,
  })
  return { answer, location: answer.headers.location }
}
const lineOf = (answer: Response<unknown>, path: string) =>
  (answer.headers['set-cookie'] ?? []).find((line) => line.startsWith(`${STORED}=`) && line.includes(`Path=${path};`))
const valueOf = (line = '') => line.slice(STORED.length + 1, line.indexOf(';'))

/** Session at a real provider. The cookies of the browser at the provider are kept. */
const signedIn = async (t: Test, settings: Settings) => {
  const redirectUri = `${PUBLIC}${OIDC}/callback`
  const users = { ada: { name: 'Ada', email: 'ada@example.com', email_verified: true } }
  const { url } = await realProvider(t, { ...client, redirectUris: [redirectUri], users })
  const service = await startService(t, {
    'server.public_url': PUBLIC,
    ...oidcSettings('main', url, client),
    ...settings,
  })
  const cookies: Cookies = new Map()
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const back = await signIn(authorizeUrl, 'ada', redirectUri, cookies)
  const answer = await comeBack(service, OIDC, back.searchParams, { cookie, accept: 'application/json' })
  const asks = async () => asksForPassword((await begin(service, OIDC)).authorizeUrl, redirectUri, cookies)
  return { service, cookies, answer, asks, token: cookiesOf(answer)['service_client_token']!.value }
}

await t.test('a sign-out leads to the provider, ends its session, and is confirmed once', async (t) => {
  const { service, cookies, answer, asks, token } = await signedIn(t, keeping)
  const kept = lineOf(answer, EXPIRE)
  t.match(kept, /; HttpOnly; Secure; SameSite=Strict$/)
  t.equal(await asks(), false, 'before')

  const out = await leave(service, token, valueOf(kept))
  t.equal(out.status, 200)
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401, 'ended here first')
  t.match(lineOf(out, EXPIRE), /^service_client_state=; /, 'the ID token is dropped')
  const url = new URL(out.json.logoutUrl!)
  const { state = '', id_token_hint: idToken = '', ...others } = Object.fromEntries(url.searchParams)
  t.strictSame(others, { client_id: 'rollcall', post_logout_redirect_uri: BACK })
  t.match(JSON.parse(Buffer.from(idToken.split('.')[1]!, 'base64url').toString()), { sub: 'ada', aud: 'rollcall' })
  const bound = lineOf(out, `${OIDC}/post-logout`)
  t.match(bound, /Max-Age=600; .*HttpOnly; Secure; SameSite=Lax$/)

  const back = await signOut(url, BACK, cookies)
  t.equal(back.searchParams.get('state'), state)
  t.equal(await asks(), true, 'after')
  const cookie = `${STORED}=${valueOf(bound)}`
  const returned = await goBack(service, back.search, { cookie })
  t.strictSame([returned.answer.status, returned.location], [302, '/login?signed_out=true'])
  t.match(lineOf(returned.answer, `${OIDC}/post-logout`), /^service_client_state=; /)

  const events = (await service.request('GET', '/audit/v1/events?limit=100')).text
  const texts = [await service.logged(), await service.metrics(), events].join('\n')
  for (const secret of [idToken, idToken.split('.')[2]!, state, valueOf(kept), valueOf(bound)])
    t.notOk(texts.includes(secret))
})

await t.test('without keep_id_token no ID token is kept or sent', async (t) => {
  const { service, cookies, answer, asks, token } = await signedIn(t, toProvider)
  t.strictSame(
    Object.keys(cookiesOf(answer)).filter((name) => name === STORED),
    [],
  )
  const url = new URL((await leave(service, token)).json.logoutUrl!)
  t.notOk(url.searchParams.has('id_token_hint'))
  await signOut(url, BACK, cookies)
  t.equal(await asks(), true)
})

await t.test('a return that does not belong to this browser only shows the sign-in page', async (t) => {
  const { service, liar } = await everyWay(t, toProvider)
  liar.lies = { document: { end_session_endpoint: `${liar.url}/end?of=them` } }
  const { token } = await logIn(service, OIDC)
  const [first, second] = [await leave(service, token), await leave(service, token)]
  t.equal(second.status, 401, 'a second click')
  const url = new URL(first.json.logoutUrl!)
  t.equal(url.searchParams.get('of'), 'them')
  const state = url.searchParams.get('state')!
  const cookie = `${STORED}=${valueOf(lineOf(first, `${OIDC}/post-logout`))}`

  for (const [search, headers] of [
    ['', { cookie }],
    ['?state=', { cookie }],
    ['?state=forged', { cookie }],
    [`?state=${state}&state=${state}`, { cookie }],
    [`?state=${state}`, {}],
    [`?state=${state}`, { cookie: `${STORED}=forged` }],
    [`?state=${state}`, { cookie: `${STORED}=${token}` }],
    [`?state=forged&error=${'x'.repeat(1000)}`, { cookie }],
  ] as const) {
    const { answer, location } = await goBack(service, search, headers)
    t.strictSame([answer.status, location, answer.headers['set-cookie']], [302, '/login', undefined], search)
  }
  const elsewhere = await service.request('GET', `/auth/v1/method/oidc/other/post-logout?state=${state}`, undefined, {
    ...open,
    accept: 'text/html',
    cookie,
  })
  t.equal(elsewhere.headers.location, '/login')
  const ahead = await goBack(service, `?state=${state}`, { cookie, 'sec-purpose': 'prefetch' })
  t.equal(ahead.answer.status, 400)
  t.strictSame((await goBack(service, `?state=${state}`, { cookie, accept: '*/*' })).answer.json, {}, 'a program')
  const failed = await goBack(service, `?state=${state}&error=server_error`, { cookie })
  t.equal(failed.location, '/login')
  t.match(await service.logged(), /"providerError":"server_error".*did not end its session/)
  t.equal((await goBack(service, `?state=${state}`, { cookie })).location, '/login?signed_out=true')
})

await t.test('a sign-out that cannot lead to the provider still ends the session here', async (t) => {
  const { service, liar } = await everyWay(t, keeping)
  const end = { end_session_endpoint: `${liar.url}/end` }
  const warnings = async () => (await service.logged()).split('\n').filter((line) => line.includes('a sign-out ended'))
  const isLocal = async (name: string, path = OIDC, search = '') => {
    const { token } = await logIn(service, path)
    const out = await leave(service, token, undefined, search)
    t.strictSame([out.status, out.json], [200, {}], name)
    return token
  }
  const token = await isLocal('no endpoint')
  t.equal((await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status, 401)
  t.equal((await warnings()).length, 1)
  await isLocal('another method', CODEHOST)

  liar.lies = { document: end }
  await service.reopen()
  await isLocal('ends later', OIDC, `?expiresAt=${new Date(Date.now() + 3_600_000).toISOString()}`)
  const { token: bare } = await logIn(service, OIDC)
  t.strictSame((await service.request('PUT', EXPIRE, undefined, bearer(bare))).json, {}, 'a program')
  const { token: foreign } = await logIn(service, OIDC)
  const crossed = await service.request('PUT', EXPIRE, undefined, {
    ...open,
    cookie: `service_client_token=${foreign}`,
    'sec-fetch-site': 'cross-site',
  })
  t.equal(crossed.status, 403)
  t.ok((await leave(service, foreign)).json.logoutUrl)

  const { token: before } = await logIn(service, OIDC)
  liar.lies = { document: json(503, {}) }
  await service.reopen()
  const away = await leave(service, before)
  t.strictSame([away.status, away.json], [200, {}], 'discovery is away')
})

await t.test('an ID token is kept within bounds, and opened by its own session only', async (t) => {
  const { service, liar } = await everyWay(t, keeping)
  const session = async (padding: number) => {
    liar.lies = { document: { end_session_endpoint: `${liar.url}/end` }, claims: { of: 'x'.repeat(padding) } }
    const { answer, token } = await logIn(service, OIDC, { accept: 'text/html' })
    return { answer, token, kept: lineOf(answer, EXPIRE) }
  }
  const hintOf = async (token: string, kept: string | undefined) =>
    new URL((await leave(service, token, valueOf(kept))).json.logoutUrl!).searchParams.get('id_token_hint')

  const large = await session(1200)
  const headers = Object.entries(large.answer.headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}: ${value}\r\n`),
  )
  t.ok(headers.join('').length < 4096, 'the answer fits into the default buffer of nginx')
  t.ok((await hintOf(large.token, large.kept))!.length > 1900)
  const tooLarge = await session(2000)
  t.equal(tooLarge.kept, undefined)
  t.equal(await hintOf(tooLarge.token, large.kept), null, 'of another session')
  const erased = await session(0)
  const { subject } = (
    await service.request<{ events: { data: { subject: string } }[] }>(
      'GET',
      '/audit/v1/events?type=LoginCompleted&limit=1&order=desc',
    )
  ).json.events[0]!.data
  await service.request('POST', '/audit/v1/subjects/erase', { subject, reason: 'request of the person' })
  t.equal(await hintOf(erased.token, erased.kept), null, 'of an erased person')
  t.equal((await service.logged()).match(/the ID token is too large to be kept/g)?.length, 1)
})
