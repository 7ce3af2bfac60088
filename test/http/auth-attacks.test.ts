import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { authorityFile } from '../authority.ts'
import type { Response } from '../start.ts'
import { begin, CODEHOST, comeBack, cookiesOf, everyWay, OIDC, refusalOf, visit } from './people.ts'

const { service } = await everyWay(t)

const attacks: readonly (readonly [attack: string, run: () => Promise<Response<unknown>>])[] = [
  [
    'the state of another browser',
    async () => {
      const [victim, attacker] = [await begin(service, OIDC), await begin(service, OIDC)]
      return comeBack(service, OIDC, await visit(attacker.authorizeUrl), { cookie: victim.cookie })
    },
  ],
  [
    'a state chosen by the client',
    async () => {
      const { cookie } = await begin(service, OIDC, '?state=chosen')
      return comeBack(service, OIDC, 'code=x&state=chosen', { cookie })
    },
  ],
]

await t.test('a login that another browser or the client began is refused', async (t) => {
  for (const [attack, run] of attacks) {
    const answer = await run()
    t.match(refusalOf(answer), { status: 401, reason: 'state_mismatch' }, attack)
    t.notOk(cookiesOf(answer)['service_client_token']?.value, `${attack}: no token`)
  }
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
