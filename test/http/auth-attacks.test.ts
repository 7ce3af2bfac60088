import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { authorityFile } from '../authority.ts'
import type { Headers, Response } from '../start.ts'
import {
  bearer,
  begin,
  CODEHOST,
  comeBack,
  cookiesOf,
  EXCHANGE,
  everyWay,
  OIDC,
  open,
  refusalOf,
  visit,
} from './people.ts'

const { service, liar, cluster } = await everyWay(t, { 'authentication.methods.orchestrator.audiences': 'rollcall' })
const { request } = service
const cookie = (...values: readonly string[]): Headers => ({
  ...open,
  cookie: values.map((value) => `service_client_token=${value}`).join('; '),
})
const good = cookie(service.token)
const exchange = async (token: string) => request('POST', EXCHANGE, { service_account_token: token }, open)
const forRollcall = { aud: ['rollcall'] }
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const later = Math.floor(Date.now() / 1000) + 600

/** Login with wrong answers of the provider. */
const lie = async (lies: typeof liar.lies): Promise<Response<unknown>> => {
  const { authorizeUrl, cookie } = await begin(service, OIDC)
  const query = await visit(authorizeUrl)
  liar.lies = lies
  const answer = await comeBack(service, OIDC, query, { cookie })
  liar.lies = {}
  return answer
}
const claims = (more: object) => lie({ claims: more as Readonly<Record<string, unknown>> })

type Row = readonly [
  id: string,
  attack: string,
  run: () => Promise<Response<unknown>>,
  status: number,
  reason: string | undefined,
]
const rows: readonly Row[] = [
  [
    'X15',
    'a bad bearer beside a good cookie',
    () => request('GET', '/auth/v1/self', undefined, { ...good, ...bearer('x') }),
    401,
    'credential_invalid',
  ],
  [
    'X15',
    'Basic beside a good cookie',
    () => request('GET', '/auth/v1/self', undefined, { ...good, authorization: 'Basic x' }),
    401,
    'credential_invalid',
  ],
  [
    'X16',
    'two cookies of one name',
    () => request('GET', '/auth/v1/self', undefined, cookie(service.token, 'x')),
    400,
    'duplicate_credential',
  ],
  [
    'X17',
    'a form of another site',
    () =>
      request('POST', '/auth/v1/method/token', '{"name":"n"}', {
        ...good,
        'content-type': 'text/plain',
        origin: 'https://evil.example',
      }),
    403,
    'cross_site',
  ],
  [
    'X17',
    'a script of a sister site',
    () => request('POST', '/auth/v1/method/token', { name: 'n' }, { ...good, 'sec-fetch-site': 'same-site' }),
    403,
    'cross_site',
  ],
  [
    'X17',
    'no word of where it comes from',
    () => request('DELETE', '/auth/v1/tokens/x', undefined, good),
    403,
    'cross_site',
  ],
  [
    'X19',
    'an account token of another audience',
    async () => exchange(await cluster.token()),
    401,
    'service_account_token_invalid',
  ],
  [
    'X20',
    'alg none',
    () => exchange(`${part({ alg: 'none' })}.${part({ exp: later, sub: 'system:serviceaccount:a:b' })}.x`),
    401,
    'service_account_token_invalid',
  ],
  [
    'X20',
    'alg HS256',
    () => exchange(`${part({ alg: 'HS256' })}.${part({ exp: later, sub: 'system:serviceaccount:a:b' })}.x`),
    401,
    'service_account_token_invalid',
  ],
  [
    'X20',
    'a key of the presenter’s choice',
    async () =>
      exchange(
        await cluster.token({
          claims: forRollcall,
          header: { jku: 'https://evil.example', kid: '../../etc/passwd' },
          key: (await cluster.newKey()).privateKey,
        }),
      ),
    401,
    'service_account_token_invalid',
  ],
  [
    'X20',
    'expired',
    async () => exchange(await cluster.token({ claims: { ...forRollcall, exp: 1 } })),
    401,
    'service_account_token_invalid',
  ],
  [
    'X22',
    'no state',
    () => comeBack(service, OIDC, 'code=x', { cookie: 'service_client_state_x=x' }),
    401,
    'state_missing',
  ],
  ['X22', 'no state cookie', () => comeBack(service, OIDC, 'code=x&state=x', {}), 401, 'state_missing'],
  [
    'X23',
    'the state of another browser',
    async () => {
      const [victim, attacker] = [await begin(service, OIDC), await begin(service, OIDC)]
      return comeBack(service, OIDC, await visit(attacker.authorizeUrl), { cookie: victim.cookie })
    },
    401,
    'state_mismatch',
  ],
  [
    'X23',
    'a state chosen by the client',
    async () => {
      const { cookie } = await begin(service, OIDC, '?state=chosen')
      return comeBack(service, OIDC, 'code=x&state=chosen', { cookie })
    },
    401,
    'state_mismatch',
  ],
  [
    'X24',
    'the same callback again',
    async () => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      const query = await visit(authorizeUrl)
      await comeBack(service, OIDC, query, { cookie })
      return comeBack(service, OIDC, query, { cookie })
    },
    401,
    'login_replayed',
  ],
  [
    'X25',
    'the code of one provider at another’s callback',
    async () => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      return comeBack(service, CODEHOST, await visit(authorizeUrl), { cookie })
    },
    401,
    'state_mismatch',
  ],
  [
    'X25',
    'another issuer',
    async () => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      const query = await visit(authorizeUrl)
      query.set('iss', 'https://evil.example')
      return comeBack(service, OIDC, query, { cookie })
    },
    401,
    'issuer_mismatch',
  ],
  [
    'X26',
    'a garbage signature',
    () => lie({ sign: (claims) => `${part({ alg: 'ES256' })}.${part(claims)}.AAAA` }),
    401,
    'id_token_invalid',
  ],
  [
    'X26',
    'alg none',
    () => lie({ sign: (claims) => `${part({ alg: 'none' })}.${part(claims)}.` }),
    401,
    'id_token_invalid',
  ],
  ['X26', 'another audience', () => claims({ aud: 'x' }), 401, 'id_token_invalid'],
  ['X26', 'a further audience', () => claims({ aud: ['rollcall', 'x'] }), 401, 'id_token_invalid'],
  ['X26', 'another nonce', () => claims({ nonce: 'x' }), 401, 'id_token_invalid'],
  ['X26', 'expired for 31 s', () => claims({ exp: Math.floor(Date.now() / 1000) - 31 }), 401, 'id_token_invalid'],
  ['X27', 'two codes', () => comeBack(service, OIDC, 'code=x&code=y&state=x', {}), 400, 'invalid_argument'],
  ['X27', 'two states', () => comeBack(service, OIDC, 'code=x&state=x&state=y', {}), 400, 'invalid_argument'],
  [
    'X30',
    'HTML in the provider’s error',
    async () => {
      const { authorizeUrl, cookie } = await begin(service, OIDC)
      const query = await visit(authorizeUrl)
      query.set('error', '<script>\r\nx: y')
      return comeBack(service, OIDC, query, { cookie })
    },
    401,
    'provider_error',
  ],
]

await t.test('each attack on credentials, exchanges and logins is refused', async (t) => {
  for (const [id, attack, run, status, reason] of rows) {
    const answer = await run()
    t.match(refusalOf(answer), { status, reason }, `${id}: ${attack}`)
    t.notOk(cookiesOf(answer)['service_client_token']?.value, `${id}: no token`)
    t.notMatch(answer.text, /<script|evil|passwd/, `${id}: nothing is echoed`)
  }
})

await t.test('a refused service account token is not sent to the cluster again for a while', async (t) => {
  const bad = await cluster.token({ claims: forRollcall, key: (await cluster.newKey()).privateKey })
  const before = cluster.asked.length
  for (let n = 0; n < 5; n++) t.equal((await exchange(bad)).status, 401)
  t.equal(cluster.asked.length, before + 1)
})

await t.test('no request can change the redirect address or the return path', async (t) => {
  const forged = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    'x-forwarded-prefix': '/evil',
  }
  for (const path of [OIDC, CODEHOST]) {
    const { authorizeUrl, cookie } = await begin(service, path, '?return_to=%2F%2Fevil.example', forged)
    t.equal(authorizeUrl.searchParams.get('redirect_uri'), `https://flags.example.com${path}/callback`)
    const answer = await comeBack(service, path, await visit(authorizeUrl), { cookie, ...forged })
    t.equal(answer.headers.location, '/')
    t.notMatch(answer.headers['set-cookie'], /evil\.example|\/evil/)
  }
})

await t.test('an unencrypted address of an issuer or API is refused at the start', (t) => {
  const at = 'authentication.methods'
  const issuer = `${at}.oidc.providers.evil.issuer_url`
  const oidc = {
    [`${at}.oidc.enabled`]: 'true',
    'server.public_url': 'https://flags.example.com',
    [`${at}.oidc.providers.evil.client_id`]: 'a',
    [`${at}.oidc.providers.evil.client_secret`]: 'b',
  }
  t.ok(loadConfig({ env: {}, flags: { ...oidc, [issuer]: 'https://issuer.example' } }))
  for (const url of [
    'http://issuer.example',
    'http://169.254.169.254',
    'ftp://issuer.example',
    'https://user:pass@issuer.example',
  ])
    t.throws(() => loadConfig({ env: {}, flags: { ...oidc, [issuer]: url } }), { message: /evil\.issuer_url/ }, url)
  const api = { [`${at}.orchestrator.enabled`]: 'true', [`${at}.orchestrator.ca_path`]: authorityFile }
  const discovery = `${at}.orchestrator.discovery_url`
  t.throws(() => loadConfig({ env: {}, flags: { ...api, [discovery]: 'http://cluster.example' } }), {
    message: /discovery_url/,
  })
  t.end()
})
