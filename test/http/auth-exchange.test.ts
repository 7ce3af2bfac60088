import t from 'tap'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { json as answers, deadUrl, unusable } from '../auth/stand-ins/listen.ts'
import { noted } from '../noted.ts'
import { type Headers, type Started, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { clusterSettings, EXCHANGE, type Issued, open, refusalOf, type Settings } from './people.ts'
import { advanceLimits } from './rate-minutes.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const AT = 'authentication.methods.orchestrator'
const base: Settings = { 'rate_limit.enabled': 'false' }

const exchange = ({ request }: Started, token: unknown, headers: Headers = {}) =>
  request<Issued>('POST', EXCHANGE, { service_account_token: token }, { ...open, ...headers })

const refusedToken = {
  status: 401,
  code: 16,
  reason: 'service_account_token_invalid',
  message: /^verifying service account: /,
}
const unavailable = {
  status: 503,
  code: 14,
  reason: 'orchestrator_unavailable',
  message: 'service is temporarily unavailable',
}

await t.test('a failed token exchange gets the documented error for each cause', async (t) => {
  const cluster = await clusterStandIn(t)
  const settings = {
    [`${AT}.allowed`]: '[{"namespace":"apps","service_accounts":["web"]}]',
    [`${AT}.audiences`]: 'rollcall',
  }
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, { ...base, ...clusterSettings(cluster), ...settings }, { clock })
  const audience = { aud: ['rollcall'] }
  const good = (claims = {}) => cluster.token({ claims: { ...audience, ...claims } })

  for (const [body, field] of [
    [{}, 'absent'],
    [{ service_account_token: '' }, 'empty'],
    [{ serviceAccountToken: null }, 'null'],
  ] as const) {
    t.match(
      refusalOf(await service.request('POST', EXCHANGE, body, open)),
      {
        status: 400,
        code: 3,
        reason: 'invalid_argument',
        message: 'invalid field service_account_token: must not be empty',
      },
      field,
    )
  }
  t.equal(refusalOf(await exchange(service, 5)).reason, 'malformed_body')

  t.match(refusalOf(await exchange(service, 'junk')), refusedToken)
  t.match(refusalOf(await exchange(service, await cluster.token())), refusedToken, 'for another audience')

  const other = {
    sub: 'system:serviceaccount:apps:other',
    'kubernetes.io': { namespace: 'apps', serviceaccount: { name: 'other', uid: 'u' } },
  }
  const notAllowed = await exchange(service, await good(other))
  t.match(refusalOf(notAllowed), {
    status: 403,
    code: 7,
    reason: 'service_account_not_allowed',
    message: 'permission denied',
  })
  t.notMatch(notAllowed.text, /other/)

  cluster.lies[REVIEWS] = unusable['500']!
  const failed = await exchange(service, await good())
  t.match(refusalOf(failed), unavailable)
  t.match(failed.headers['retry-after'], /^\d+$/)
  cluster.lies = {}
  const { status, json, headers } = await exchange(service, await good())
  t.equal(status, 200)
  t.match(json.clientToken, /^rck_/)
  t.match(headers['event-position'], /^\d+$/)
  t.notMatch(await service.logged(), /canary/)
})

await t.test('a token exchange gets 503 if the API server is unreachable', async (t) => {
  const cluster = await clusterStandIn(t)
  for (const verification of ['token_review', 'jwks']) {
    const settings = { ...clusterSettings({ ...cluster, url: await deadUrl() }), [`${AT}.verification`]: verification }
    const clock = virtualClock(new Date().toISOString())
    const service = await startService(t, { ...base, ...settings }, { clock })
    t.match(refusalOf(await exchange(service, await cluster.token())), unavailable)
  }
})

await t.test('each exchange issues a new token that is valid as long as its service account token', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const cluster = await clusterStandIn(t)
  const service = await startService(t, { ...base, ...clusterSettings(cluster) }, { clock })
  const exp = Math.floor(clock.now().getTime() / 1000) + 600
  const token = await cluster.token({ claims: { exp } })
  const [one, two] = [await exchange(service, token), await exchange(service, token)]
  t.not(one.json.clientToken, two.json.clientToken)
  const self = (secret: string) =>
    service.request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${secret}` })
  for (const { json } of [one, two]) t.equal((await self(json.clientToken)).status, 200)
  clock.jump(exp * 1000 - 1 - clock.now().getTime())
  for (const { json } of [one, two]) t.equal((await self(json.clientToken)).status, 200, 'to the last moment')
  clock.jump(1)
  for (const { json } of [one, two]) t.equal((await self(json.clientToken)).status, 401)
  t.match(refusalOf(await exchange(service, token)), refusedToken)
})

await t.test('a repeated exchange is verified again, has one effect and shows the secret once', async (t) => {
  const cluster = await clusterStandIn(t)
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, { ...base, ...clusterSettings(cluster) }, { clock })
  const token = await cluster.token()
  const key = { 'idempotency-key': 'once' }
  const all = await Promise.all(Array.from({ length: 5 }, () => exchange(service, token, key)))
  await service.reopen()
  all.push(await exchange(service, token, key))
  t.equal(all.filter(({ json }) => json.clientToken !== undefined).length, 1)
  t.equal(new Set(all.map(({ json }) => json.authentication.id)).size, 1)
  t.ok(all.every(({ status }) => status === 200))
  const last = all.at(-1)!
  t.equal(refusalOf(last).reason, 'secret_already_shown')
  t.equal(last.headers['idempotency-replayed'], 'true')

  const account = {
    sub: 'system:serviceaccount:apps:job',
    'kubernetes.io': { namespace: 'apps', serviceaccount: { name: 'job', uid: 'u' } },
  }
  const another = await exchange(service, await cluster.token({ claims: account }), key)
  t.type(another.json.clientToken, 'string', 'another account has keys of its own')
  t.equal(
    refusalOf(await exchange(service, await cluster.token(), key)).reason,
    'idempotency_mismatch',
    'another token is another request',
  )
  cluster.gone.add('uid-of-pod')
  t.match(refusalOf(await exchange(service, token, key)), refusedToken, 'an invalid token gets no replay')
  t.equal(refusalOf(await exchange(service, token, { 'idempotency-key': '' })).reason, 'invalid_header')
})

await t.test('one client may fail 60 exchanges a minute, and the event log has their number', async (t) => {
  const cluster = await clusterStandIn(t)
  const clock = virtualClock()
  const service = await startService(t, clusterSettings(cluster), { clock })
  for (let n = 0; n < 60; n++) t.equal((await exchange(service, 'junk')).status, 401)
  const limited = await service.request('POST', EXCHANGE, '{', open)
  t.match(
    refusalOf(limited),
    { status: 429, code: 8, reason: 'rate_limited', message: 'too many requests' },
    'before the body is looked at',
  )
  t.equal(limited.headers['retry-after'], '60')
  t.equal((await service.request('GET', '/auth/v1/self')).status, 200, 'other clients are not limited')
  await advanceLimits(clock, 60_000 - (clock.now().getTime() % 60_000) - 1)
  t.equal((await exchange(service, 'junk')).status, 429, 'until the last millisecond of the minute')
  t.equal(clock.now().getTime() % 60_000, 0, 'a request to write takes one')
  t.equal((await exchange(service, 'junk')).status, 401, 'and no longer')
})

await t.test('without rate limits many exchanges wait for the cluster, and get 503 after the deadline', async (t) => {
  const cluster = await clusterStandIn(t)
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, { ...base, ...clusterSettings(cluster) }, { clock })
  const token = await cluster.token()
  const burst = await Promise.all(Array.from({ length: 200 }, () => exchange(service, token)))
  t.strictSame(new Set(burst.map(({ status }) => status)), new Set([200]))
  cluster.lies = { [REVIEWS]: () => undefined }
  const refusing = Promise.all(Array.from({ length: 100 }, () => exchange(service, token)))
  const over = noted(refusing)
  await eventually(async () => {
    await clock.advance(500)
    return over.length > 0
  }, 'the end of all of them')
  const late = await refusing
  for (const answer of late) t.match(refusalOf(answer), unavailable)
  t.match(late[0]!.headers['retry-after'], /^\d+$/)
})

await t.test('successful exchanges are counted by service account, not by address', async (t) => {
  const cluster = await clusterStandIn(t)
  const clock = virtualClock(new Date().toISOString())
  const limits = { 'rate_limit.exchanges': '40' }
  const service = await startService(t, { ...clusterSettings(cluster), ...limits }, { clock })
  const own = async (name: string) => {
    const claims = {
      sub: `system:serviceaccount:apps:${name}`,
      'kubernetes.io': { namespace: 'apps', serviceaccount: { name, uid: name } },
    }
    return (await exchange(service, await cluster.token({ claims }))).status
  }
  const all = async (name: string, count: number) =>
    new Set(await Promise.all(Array.from({ length: count }, () => own(name))))
  t.strictSame(await all('web', 40), new Set([200]))
  t.equal(await own('web'), 429)
  t.strictSame(await all('job', 40), new Set([200]), 'another account of the same address')
  t.match(await service.metrics(), /^rollcall_exchanges_total\{result="limited"\} 1$/m)
  await advanceLimits(clock, 60_000)
  t.equal(await own('web'), 200)
  const unlimited = await startService(t, { ...clusterSettings(cluster), 'rate_limit.exchanges': '0' }, { clock })
  const token = await cluster.token()
  const many = await Promise.all(Array.from({ length: 70 }, () => exchange(unlimited, token)))
  t.strictSame(new Set(many.map(({ status }) => status)), new Set([200]))
})

await t.test('metrics distinguish exchanges that were refused from those that could not be decided', async (t) => {
  const cluster = await clusterStandIn(t)
  const clock = virtualClock(new Date().toISOString())
  const service = await startService(t, clusterSettings(cluster), { clock })
  const token = await cluster.token()
  const { json } = await exchange(service, token)
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string }
  t.match(json.authentication, { metadata: { 'io.service.auth.orchestrator.credential.id': `JTI=${jti}` } })
  await exchange(service, 'junk')
  cluster.lies = { [REVIEWS]: answers(500, {}) }
  for (let n = 0; n < 70; n++)
    t.equal((await exchange(service, token)).status, 503, 'what the cluster does is no failure of the client')
  const page = await service.metrics()
  for (const [result, count] of [
    ['issued', 1],
    ['refused', 1],
    ['unavailable', 70],
  ] as const)
    t.match(page, `rollcall_exchanges_total{result="${result}"} ${count}\n`)
})
