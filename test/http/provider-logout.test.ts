import type { ServerResponse } from 'node:http'
import { generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { type Liar, lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { deadUrl } from '../auth/stand-ins/listen.ts'
import { type Cookies, realProvider, signIn, signOut } from '../auth/stand-ins/provider.ts'
import { startService } from '../start.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { formOf, LOGOUT_EVENT, logoutClaims, postLogout, sendLogout } from './logout-token.ts'
import { bearer, begin, comeBack, cookiesOf, everyWay, logIn, oidcSettings, visit } from './people.ts'

type Claims = Readonly<Record<string, unknown>>
type Recorded = {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly data: Claims
  readonly causationId?: string
}

const seconds = (from = 0) => Math.floor(Date.now() / 1000) + from
const at = (provider: string) => `/auth/v1/method/oidc/${provider}`

/** Claims of a logout token like that of Keycloak. */
const claimsOf = (liar: Liar, more: Claims = {}) =>
  logoutClaims(liar, { sid: 'sid-of-alice', exp: seconds(120), typ: 'Logout', ...more })

/** A service with two providers that have the same people. */
const world = async (t: Test, clock?: VirtualClock) => {
  const other = await lyingProvider(t)
  const { liar, service } = await everyWay(t, oidcSettings('other', other.url, lyingClient), clock && { clock })
  const logInAs = async (sub: string, sid: string | undefined, provider = 'main') => {
    const lies = { claims: { sub, ...(sid !== undefined && { sid }) } }
    if (provider === 'main') liar.lies = lies
    else other.lies = lies
    return (await logIn(service, at(provider))).token
  }
  const isLive = async (token: string) =>
    (await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status === 200
  const recorded = async (type: string) =>
    (await service.request<{ events: readonly Recorded[] }>('GET', `/audit/v1/events?type=${type}&limit=1000`)).json
      .events
  return { liar, other, service, signIn: logInAs, isLive, recorded }
}

await t.test('a logout token that breaks a rule ends nothing and is a refusal in the history', async (t) => {
  const { liar, service, signIn, isLive } = await world(t)
  const session = await signIn('alice', 'sid-of-alice')
  const stranger = await generateKeyPair('ES256')
  const signed = (claims: Claims, header = {}) => liar.signed(claimsOf(liar, claims), { typ: 'logout+jwt', ...header })
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const good = await signed({})
  const [header, payload, signature = ''] = good.split('.')

  const wrong: Readonly<Record<string, string>> = {
    'no form': '',
    'a form without a token': 'token=x',
    'two tokens': `${formOf(good)}&${formOf(good)}`,
    'no JWT': formOf('x'),
    'a large token': formOf('x'.repeat(16_385)),
    'no signature': formOf(`${part({ alg: 'none' })}.${payload}.`),
    'another signature': formOf(`${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`),
    'the secret of the client': formOf(
      await new SignJWT(claimsOf(liar))
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(lyingClient.clientSecret)),
    ),
    'a foreign key': formOf(
      await new SignJWT(claimsOf(liar)).setProtectedHeader({ alg: 'ES256' }).sign(stranger.privateKey),
    ),
    'another issuer': formOf(await signed({ iss: 'https://elsewhere.example' })),
    'another client': formOf(await signed({ aud: ['another'] })),
    'a time in the future': formOf(await signed({ iat: seconds(120) })),
    'an old token': formOf(await signed({ iat: seconds(-700), exp: seconds(120) })),
    'an old token without exp': formOf(await signed({ iat: seconds(-700), exp: undefined })),
    'an expired token': formOf(await signed({ iat: seconds(-300), exp: seconds(-100) })),
    'no time': formOf(await signed({ iat: undefined })),
    'no events': formOf(await signed({ events: undefined })),
    'another event': formOf(await signed({ events: { 'urn:other': {} } })),
    'an event that is no object': formOf(await signed({ events: { [LOGOUT_EVENT]: true } })),
    'events that are a list': formOf(await signed({ events: [LOGOUT_EVENT] })),
    'a nonce': formOf(await signed({ nonce: 'n' })),
    'neither sub nor sid': formOf(await signed({ sub: undefined, sid: undefined })),
    'a sub that is no text': formOf(await signed({ sub: 7 })),
    'an empty sid': formOf(await signed({ sid: '' })),
    'no jti': formOf(await signed({ jti: undefined })),
    'another type': formOf(await signed({}, { typ: 'at+jwt' })),
  }
  for (const [name, body] of Object.entries(wrong)) {
    const { status, headers, json } = await postLogout(service, body)
    t.strictSame([status, json.error, headers['cache-control']], [400, 'invalid_request', 'no-store'], name)
    t.match(json.error_description, /^logout token was refused: /, name)
  }
  const json = await postLogout(service, JSON.stringify({ logout_token: good }), at('main'), {
    'content-type': 'application/json',
  })
  t.match([json.status, json.json], [400, { error_description: /not a form/ }])
  t.match((await sendLogout(service, good, at('absent'))).status, 404)
  t.match((await sendLogout(service, good, at('other'))).status, 400, 'of another provider')
  t.ok(await isLive(session))

  const lines = (await service.logged()).split('\n').filter((line) => line.includes('a logout token was refused'))
  t.match(JSON.parse(lines[0]!), { method: 'oidc', provider: 'main', reason: 'logout_token_invalid' })
  t.notMatch(lines.join(), payload!)
  t.ok(lines.length < 10, 'repeated refusals are not logged one by one')
  await service.reopen()
  type Events = { readonly events: readonly Recorded[] }
  const { events } = (await service.request<Events>('GET', '/audit/v1/events?type=AuthenticationRefused')).json
  t.match(events[0]!.data, {
    reason: 'logout_token_invalid',
    route: '/auth/v1/method/oidc/:provider/backchannel-logout',
  })
  t.ok(events.length < 10)
})

await t.test('a logout token ends the sessions of its person, or of its session at the provider', async (t) => {
  const { liar, service, signIn, isLive, recorded } = await world(t)
  const sessions = {
    first: await signIn('alice', 's1'),
    second: await signIn('alice', 's1'),
    third: await signIn('alice', 's2'),
    withoutSid: await signIn('alice', undefined),
    bob: await signIn('bob', 's3'),
    elsewhere: await signIn('alice', 's2', 'other'),
  }
  const live = async () => {
    const found: string[] = []
    for (const [name, token] of Object.entries(sessions)) if (await isLive(token)) found.push(name)
    return found
  }
  t.strictSame(await live(), Object.keys(sessions))

  // Hydra names neither a person nor an expiry.
  const ofHydra = claimsOf(liar, { aud: [lyingClient.clientId], sub: undefined, exp: undefined, sid: 's1' })
  const { status, headers, text } = await sendLogout(service, await liar.signed(ofHydra, { typ: 'JWT' }))
  t.strictSame([status, headers['cache-control'], text], [200, 'no-store', '{}'])
  t.strictSame(await live(), ['third', 'withoutSid', 'bob', 'elsewhere'])

  const ofKeycloak = await liar.signed(claimsOf(liar, { sid: 's2' }), { typ: 'logout+jwt' })
  const statuses = await Promise.all([sendLogout(service, ofKeycloak), sendLogout(service, ofKeycloak)])
  t.equal(statuses.filter((answer) => answer.status === 200).length, 1, 'one of two at the same time')
  t.equal(statuses.filter((answer) => answer.status === 400).length, 1)
  t.strictSame(await live(), ['bob', 'elsewhere'])

  const again = await signIn('alice', 's4')
  t.match(await sendLogout(service, ofKeycloak), {
    status: 400,
    json: { error_description: 'logout token was used before' },
  })
  t.ok(await isLive(again), 'a repeated token ends no later session, also of the same second')

  const received = await recorded('ProviderLogoutReceived')
  t.match(
    received.map(({ data }) => data),
    [
      { provider: 'main', session: /^sid-/ },
      { provider: 'main', identity: /^sub-/, subject: /^person-/ },
    ],
  )
  t.strictSame(
    (await recorded('ProviderLogoutCompleted')).map(({ data }) => data['sessions']),
    [2, 2],
  )
  const ended = await recorded('TokenRevoked')
  t.strictSame([...new Set(ended.map(({ data }) => data['provider']))], ['main'])
  t.strictSame(
    ended.map(({ causationId }) => received.findIndex(({ id }) => id === causationId)),
    [0, 0, 1, 1],
    'the logout is the cause of the ends',
  )
  t.notMatch(JSON.stringify(received), /alice|"s[12]"/)
})

await t.test('a login whose ID token is older than a logout is refused', async (t) => {
  const { liar, service, recorded } = await world(t)
  for (const claims of [{ sid: 's1' }, { sub: undefined, sid: 's1' }]) {
    liar.lies = { claims: { sid: 's1' } }
    const { authorizeUrl, cookie } = await begin(service, at('main'))
    const query = await visit(authorizeUrl)
    liar.lies = {
      // The provider signs the person out while the service waits for the ID token.
      sign: async (idToken) => {
        t.equal((await sendLogout(service, await liar.signed(claimsOf(liar, claims)))).status, 200)
        return liar.signed({ ...idToken, sid: 's1' })
      },
    }
    const answer = await comeBack(service, at('main'), query, { cookie, accept: 'application/json' })
    t.match(answer, { status: 401, json: { message: 'handling OIDC callback: the provider signed the person out' } })
    t.strictSame(cookiesOf(answer)['service_client_token'], undefined)
  }
  t.equal((await recorded('TokenIssued')).length - (await recorded('TokenRevoked')).length, 1, 'the bootstrap token')
  t.strictSame((await recorded('LoginRefused')).length, 2)
})

await t.test('logout tokens wait for the keys of the provider for 4.5 s, and evaluations do not wait', async (t) => {
  const clock = virtualClock()
  const { liar, service, signIn, isLive } = await world(t, clock)
  liar.now = () => clock.now().getTime()
  const flag = { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' }
  t.equal((await service.request('POST', '/api/v1/flags', flag)).status, 200)
  const keys = await (await fetch(`${liar.url}/keys`)).text()
  const session = await signIn('alice', 's1')
  const held: ServerResponse[] = []
  const release = () => {
    liar.lies = {}
    held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end(keys)
  }
  /** Sends a logout token often, while the provider does not answer the request for its keys. */
  const waiting = async (times: number) => {
    // Keys are cached for five minutes.
    await clock.advance(300_001)
    liar.lies = { keys: (response) => void held.push(response) }
    const token = await liar.signed(claimsOf(liar, { exp: undefined }))
    const answered: string[] = []
    const answers = Array.from({ length: times }, async () => {
      const { status, json } = await sendLogout(service, token)
      answered.push(`${status} ${json.error ?? ''}`)
    })
    await eventually(() => held.length > 0, 'a request for the keys')
    return { answered, all: () => Promise.all(answers) }
  }

  const late = await waiting(1)
  await clock.advance(4_499)
  t.strictSame(late.answered, [])
  await clock.advance(1)
  await late.all()
  t.strictSame(late.answered, ['503 temporarily_unavailable'])
  t.ok(await isLive(session))
  release()
  await eventually(async () => !(await isLive(session)), 'the end of the session, although the answer was 503')

  const many = await waiting(100)
  const question = { namespaceKey: 'default', flagKey: 'f', entityId: 'e', context: {} }
  t.equal((await service.request('POST', '/evaluate/v1/boolean', question)).status, 200)
  t.strictSame([many.answered, held.length], [[], 1], 'all wait for one request')
  release()
  await many.all()
  t.strictSame(many.answered.sort(), ['200 ', ...Array<string>(99).fill('400 invalid_request')])
})

await t.test('a sign-out at a real provider ends the sessions here', async (t) => {
  const url = await deadUrl()
  const [back, provider] = [`${url}${at('main')}`, { ...lyingClient, users: { ada: {}, bob: {} } }]
  const logoutUri = `${back}/backchannel-logout`
  const { url: issuer } = await realProvider(t, { ...provider, redirectUris: [`${back}/callback`], logoutUri })
  const service = await startService(t, {
    'server.http_port': new URL(url).port,
    'server.public_url': url,
    ...oidcSettings('main', issuer, lyingClient),
  })
  /** Signs in with a browser of its own. */
  const browser = async (name: string) => {
    const cookies: Cookies = new Map()
    const { authorizeUrl, cookie } = await begin(service, at('main'))
    const { searchParams } = await signIn(authorizeUrl, name, `${back}/callback`, cookies)
    const answer = await comeBack(service, at('main'), searchParams, { cookie, accept: 'application/json' })
    return { cookies, token: cookiesOf(answer)['service_client_token']!.value }
  }
  const [first, second, bob] = [await browser('ada'), await browser('ada'), await browser('bob')]
  const leaving = new URLSearchParams({
    client_id: lyingClient.clientId,
    post_logout_redirect_uri: `${back}/post-logout`,
  })
  await signOut(new URL(`${issuer}/session/end?${String(leaving)}`), `${back}/post-logout`, first.cookies)
  const statuses = await Promise.all(
    [first, second, bob].map(
      async ({ token }) => (await service.request('GET', '/auth/v1/self', undefined, bearer(token))).status,
    ),
  )
  t.strictSame(statuses, [401, 401, 200])
})
