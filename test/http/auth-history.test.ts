import t from 'tap'
import { virtualClock } from '../virtual-clock.ts'
import { eventsOf } from './events-of.ts'
import {
  bearer,
  begin,
  CODEHOST,
  comeBack,
  EXCHANGE,
  everyWay,
  type Issued,
  logIn,
  OIDC,
  open,
  type Settings,
  visit,
} from './people.ts'

const agent = { 'user-agent': 'agent-of-alice' }

await t.test('a login is recorded from start to token, and each event names its cause', async (t) => {
  const { service } = await everyWay(t)
  const { authorizeUrl, cookie, answer } = await begin(service, OIDC, '', agent)
  const back = await comeBack(service, OIDC, await visit(authorizeUrl), {
    cookie,
    accept: 'application/json',
    ...agent,
  })
  const { id } = back.json.authentication
  const events = await eventsOf(
    service.directory,
    ({ meta }) => meta.correlationId !== undefined && meta.route?.includes('oidc') === true,
  )
  t.strictSame(
    events.map(({ type }) => type),
    ['LoginStarted', 'LoginReturned', 'TokenIssued', 'LoginCompleted'],
  )
  const [started, returned, issued, completed] = events as [
    (typeof events)[0],
    (typeof events)[0],
    (typeof events)[0],
    (typeof events)[0],
  ]
  const login = started.data['login']
  t.match(login, /^[0-9a-f]{64}$/)
  t.equal(started.stream, `login-${String(login)}`)
  t.strictSame(
    events.map(({ meta }) => meta.correlationId),
    [login, login, login, login],
    'one correlation id',
  )
  t.strictSame(
    events.map(({ meta }) => meta.causationId),
    [undefined, undefined, returned.id, issued.id],
  )
  t.notOk(answer.headers['event-position'], 'authorize writes nothing')
  t.strictSame(new Set(events.map(({ meta }) => meta.requestId)).size, 1)
  t.ok(String(started.data['startedAt']) <= String(returned.data['returnedAt']), 'the start is recorded')
  t.match(started.data, { method: 'oidc', provider: 'main' })
  t.match(issued.data, {
    id,
    login,
    method: 'oidc',
    provider: 'main',
    attributes: { 'oidc.provider': 'main' },
    metadata: {},
    profile: /^sealed\.1\./,
  })
  t.match(completed.data, { login, tokenId: id, subject: issued.data['subject'] })
  for (const { meta } of events) {
    t.match(meta, { ip: /^sealed\.1\./, userAgent: /^sealed\.1\./, actor: { kind: 'anonymous' } })
  }
  const { position } = (await eventsOf(service.directory)).at(-1)!
  t.equal(back.headers['event-position'], String(position), 'the position of its last event')
})

await t.test('logins that were not finished are recorded as one count', async (t) => {
  const { service } = await everyWay(t, { 'rate_limit.enabled': 'false' })
  const before = await eventsOf(service.directory)
  for (let n = 0; n < 200; n++) await begin(service, n % 4 === 0 ? CODEHOST : OIDC)
  t.equal((await eventsOf(service.directory)).length, before.length)
  await service.close()
  const after = (await eventsOf(service.directory)).slice(before.length)
  t.match(after, [{ type: 'LoginsBegun', data: { total: 200, byWay: { codehost: 50, 'oidc/main': 150 } } }])
  t.equal(after.length, 1)
})

await t.test('a failed login is recorded with its reason, and no token is issued', async (t) => {
  const { service } = await everyWay(t)
  const { authorizeUrl, cookie } = await begin(service, CODEHOST)
  const { searchParams } = authorizeUrl
  await comeBack(service, CODEHOST, `state=${searchParams.get('state')}&error=access_denied`, { cookie })
  const events = await eventsOf(service.directory, ({ stream }) => stream.startsWith('login-'))
  t.strictSame(
    events.map(({ type }) => type),
    ['LoginStarted', 'LoginReturned', 'LoginRefused'],
  )
  t.match(events[2], {
    data: { reason: 'provider_error', providerError: 'access_denied' },
    meta: { causationId: events[1]!.id },
  })
  t.equal(
    (await eventsOf(service.directory, ({ type }) => type === 'TokenIssued')).length,
    1,
    'only the bootstrap token',
  )
  await service.close()
  const [refused] = await eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')
  t.match(refused?.data, { reason: 'provider_error', route: `${CODEHOST}/callback`, network: /^sealed\.1\./ })
})

await t.test('a refused exchange is recorded with its account only if the cluster confirmed the account', async (t) => {
  const settings: Settings = {
    'authentication.methods.orchestrator.allowed': '[{"namespace":"apps","service_accounts":["web"]}]',
  }
  const { service, cluster } = await everyWay(t, settings)
  const exchange = (token: string) => service.request<Issued>('POST', EXCHANGE, { service_account_token: token }, open)
  const { json } = await exchange(await cluster.token())
  const [issued] = await eventsOf(service.directory, ({ stream }) => stream === `token-${json.authentication.id}`)
  t.match(issued?.data, {
    method: 'orchestrator',
    identity: 'apps/web',
    attributes: { 'orchestrator.pod.name': 'web-0' },
  })
  const as = (name: string, key?: Parameters<typeof cluster.token>[0]) =>
    cluster.token({
      claims: {
        sub: `system:serviceaccount:apps:${name}`,
        'kubernetes.io': { namespace: 'apps', serviceaccount: { name, uid: 'u' } },
      },
      ...key,
    })
  t.equal((await exchange(await as('confirmed'))).status, 403)
  t.equal((await exchange(await as('forged', { key: (await cluster.newKey()).privateKey }))).status, 401)
  await service.close()
  const refused = await eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')
  t.strictSame(
    refused.map(({ data }) => [data['reason'], data['serviceAccount']]),
    [
      ['service_account_not_allowed', 'apps/confirmed'],
      ['service_account_token_invalid', undefined],
    ],
  )
  t.notMatch(JSON.stringify(await eventsOf(service.directory)), /forged/)
})

await t.test("all revocations of one holder's tokens are recorded with the same cause", async (t) => {
  // The revocation waits until lists are caught up; with a stopped clock this wait does not time out.
  const { service } = await everyWay(t, {}, { clock: virtualClock(new Date().toISOString()) })
  await logIn(service, OIDC)
  await logIn(service, OIDC)
  const headers = { 'x-request-id': 'the-cause', 'event-reason': 'left the company' }
  await service.request('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_OIDC', identity: 'alice' }, headers)
  const events = await eventsOf(service.directory, ({ type }) => type === 'TokenRevoked')
  t.equal(events.length, 2)
  t.equal(new Set(events.map(({ stream }) => stream)).size, 2)
  for (const { meta } of events)
    t.match(meta, { correlationId: 'the-cause', reason: 'left the company', actor: { kind: 'token', method: 'token' } })
})

await t.test('every refused request is counted', async (t) => {
  const { service } = await everyWay(t, { 'rate_limit.enabled': 'true' }, { clock: virtualClock() })
  for (let n = 0; n < 320; n++) await service.request('GET', '/auth/v1/self', undefined, bearer('nobody'))
  for (let n = 0; n < 10; n++) await service.request('GET', '/auth/v1/self', undefined, open)
  await service.close()
  const [summary] = await eventsOf(service.directory, ({ type }) => type === 'RefusalsSummarised')
  t.match(summary?.data, {
    total: 330,
    byReason: { credential_invalid: 300, rate_limited: 20, credential_missing: 10 },
    byRoute: { '/auth/v1/self': 330 },
  })
  t.equal(
    (await eventsOf(service.directory, ({ type }) => type === 'AuthenticationRefused')).length,
    0,
    'the number of events is limited',
  )
})
