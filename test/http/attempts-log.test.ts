import t from 'tap'
import { deadUrl, json, unusable } from '../auth/stand-ins/listen.ts'
import { type Started, startService } from '../start.ts'
import { eventsOf } from './events-of.ts'
import {
  begin,
  CODEHOST,
  codehostSettings,
  comeBack,
  EXCHANGE,
  everyWay,
  OIDC,
  oidcSettings,
  open,
  PUBLIC,
  visit,
} from './people.ts'

type Line = Readonly<Record<string, unknown>>

/** Log lines of one request. */
const linesOf = async (service: Started, requestId: string): Promise<readonly Line[]> =>
  (await service.logged())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line['requestId'] === requestId)

const asJson = { accept: 'application/json' }
const page = { accept: 'text/html' }

await t.test('each login callback is logged in one line with request id, provider and reason', async (t) => {
  const { service, liar, host } = await everyWay(t)
  const finish = async (
    path: string,
    id: string,
    accept: Readonly<Record<string, string>>,
    change = (query: URLSearchParams) => query,
  ) => {
    const { authorizeUrl, cookie } = await begin(service, path)
    await comeBack(service, path, change(await visit(authorizeUrl)), { cookie, 'x-request-id': id, ...accept })
    const lines = await linesOf(service, id)
    t.equal(lines.length, 1, `${id}: one line`)
    return lines[0]!
  }
  const oidc = { level: 'INFO', method: 'oidc', provider: 'main' }
  const codehost = { level: 'INFO', method: 'codehost', provider: undefined }
  const [good, refused] = ['a login succeeded', 'a login was refused']

  t.match(await finish(OIDC, 'one', asJson), { ...oidc, msg: good, tokenId: /^[0-9a-f-]{36}$/ })
  t.match(await finish(CODEHOST, 'two', page), { ...codehost, msg: good })
  const denied = (query: URLSearchParams) => {
    query.delete('code')
    query.set('error', 'access_denied')
    return query
  }
  for (const [n, accept] of [asJson, page].entries())
    t.match(await finish(OIDC, `denied-${n}`, accept, denied), {
      ...oidc,
      msg: refused,
      reason: 'provider_error',
      providerError: 'access_denied',
    })
  const wrongCode = (query: URLSearchParams) => {
    query.set('code', 'wrong')
    return query
  }
  const told = { msg: refused, reason: 'code_refused' }
  t.match(await finish(OIDC, 'grant', page, wrongCode), { ...oidc, ...told, providerError: 'invalid_grant' })
  t.match(await finish(CODEHOST, 'code', page, wrongCode), {
    ...codehost,
    ...told,
    providerError: 'bad_verification_code',
  })
  t.match(
    (await eventsOf(service.directory, ({ type }) => type === 'LoginRefused')).map(({ data }) => data['providerError']),
    ['access_denied', 'access_denied', 'invalid_grant', 'bad_verification_code'],
    'the history knows it too',
  )

  const description = 'Client canary-7 of alice@example.com\r\n is not known (trace 2f9c)'
  liar.lies = { token: json(401, { error: 'invalid_client', error_description: description }) }
  const away = { msg: refused, reason: 'provider_unavailable' }
  t.match(await finish(OIDC, 'client', page), {
    ...oidc,
    msg: refused,
    reason: 'oauth_client_refused',
    providerError: 'invalid_client',
    providerSays: 'Client … of … is not known (trace …',
    why: `token endpoint at ${new URL(liar.url).host} refused our client`,
    change: /client_secret/,
  })
  liar.lies = { token: json(400, { error: '<script>canary' }) }
  t.equal((await finish(OIDC, 'script', page))['providerError'], undefined)
  liar.lies = {}
  host.lies['/api/user'] = unusable['500']!
  t.match(await finish(CODEHOST, 'user', page), {
    ...codehost,
    ...away,
    why: `/user at ${new URL(host.url).host}: answered with status 500`,
  })

  await comeBack(service, OIDC, 'state=x&code=y', { 'x-request-id': 'nothing' })
  t.match(await linesOf(service, 'nothing'), [{ ...oidc, msg: refused, reason: 'state_missing' }])
  t.notMatch(await service.logged(), /canary|alice/i)
})

await t.test('a login that cannot start is logged with its reason, and so is each token exchange', async (t) => {
  const dead = await deadUrl()
  const service = await startService(t, {
    'server.public_url': PUBLIC,
    ...oidcSettings('main', dead, { clientId: 'c', clientSecret: 'canary-secret-of-a-client' }),
    ...codehostSettings(dead),
  })
  const answer = await service.request('GET', `${OIDC}/authorize`, undefined, { ...open, 'x-request-id': 'begin' })
  t.equal(answer.status, 503)
  const lines = await linesOf(service, 'begin')
  t.match(
    lines.find(({ msg }) => msg === 'a login was refused'),
    { level: 'INFO', method: 'oidc', provider: 'main', reason: 'provider_unavailable', why: /ECONNREFUSED/ },
  )
  t.match(
    lines.find(({ msg }) => msg === 'answered'),
    { status: 503, reason: 'provider_unavailable', why: /ECONNREFUSED/ },
  )

  const { service: whole, cluster } = await everyWay(t)
  const exchange = async (id: string, token: string) => {
    await whole.request('POST', EXCHANGE, { service_account_token: token }, { ...open, 'x-request-id': id })
    return (await linesOf(whole, id)).find(({ msg }) => msg !== 'answered')
  }
  const who = { level: 'INFO', method: 'orchestrator' }
  t.match(await exchange('bad', 'nonsense'), {
    ...who,
    msg: 'an exchange was refused',
    reason: 'service_account_token_invalid',
  })
  t.match(await exchange('good', await cluster.token()), {
    ...who,
    msg: 'an exchange succeeded',
    serviceAccount: 'apps/web',
  })
})

await t.test('a refused write is logged with its reason', async (t) => {
  const { service } = await everyWay(t)
  const write = (id: string, body: object) =>
    service.request('POST', '/api/v1/namespaces', body, { 'x-request-id': id })
  await write('fine', { key: 'a', name: 'A' })
  await write('taken', { key: 'a', name: 'A' })
  t.match(await linesOf(service, 'taken'), [{ level: 'INFO', msg: 'answered', status: 400, reason: 'not_unique' }])
  t.equal((await linesOf(service, 'fine'))[0]!['reason'], undefined)
  await service.request('POST', '/api/v1/namespaces', {}, { ...open, 'x-request-id': 'nobody' })
  t.match(await linesOf(service, 'nobody'), [{ status: 401, reason: 'credential_missing' }])
})
