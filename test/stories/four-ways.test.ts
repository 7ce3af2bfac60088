import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { lyingClient } from '../auth/stand-ins/liar.ts'
import { realProvider, signIn } from '../auth/stand-ins/provider.ts'
import {
  bearer,
  begin,
  CODEHOST,
  clusterSettings,
  codehostSettings,
  comeBack,
  cookiesOf,
  EXCHANGE,
  type Issued,
  oidcSettings,
  open,
  PUBLIC,
  visit,
} from '../http/people.ts'
import { type Started, startService } from '../start.ts'

/** Expects a client token to work as bearer and as cookie. */
const works = async (t: Test, { request }: Started, token: string, id: string): Promise<void> => {
  for (const headers of [bearer(token), { ...open, cookie: `service_client_token=${token}` }]) {
    const self = await request('GET', '/auth/v1/self', undefined, headers)
    t.equal(self.status, 200)
    t.match(self.json, { id, status: 'ACTIVE' })
    t.equal((await request('GET', '/auth/v1/tokens', undefined, headers)).status, 200, 'it reaches what is protected')
  }
}

await t.test('a client token can be issued as a static token', async (t) => {
  const service = await startService(t)
  const body = { name: 'deploy', description: 'for the pipeline' }
  const nobody = await service.request('POST', '/auth/v1/method/token', body, open)
  t.equal(nobody.status, 401, 'Authorization is required when authentication is set to required')
  const { status, json } = await service.request<Issued>('POST', '/auth/v1/method/token', body)
  t.equal(status, 200)
  t.match(json.authentication, {
    method: 'METHOD_TOKEN',
    metadata: { 'io.service.auth.token.name': 'deploy', 'io.service.auth.token.description': 'for the pipeline' },
  })
  t.notOk('expiresAt' in json.authentication, 'when expiration is absent the token never expires')
  await works(t, service, json.clientToken, json.authentication.id)
})

await t.test('a client token can be issued after a login at one of several OpenID Connect providers', async (t) => {
  const users = {
    alice: { email: 'alice@example.com', email_verified: true, name: 'Alice' },
    bob: { email: 'bob@example.com' },
  }
  const names = ['one', 'two']
  const providers = await Promise.all(
    names.map((name) =>
      realProvider(t, { ...lyingClient, redirectUris: [`${PUBLIC}/auth/v1/method/oidc/${name}/callback`], users }),
    ),
  )
  const ofProviders = providers.map(({ url }, n) => oidcSettings(names[n]!, url, lyingClient))
  const service = await startService(
    t,
    Object.assign({ 'server.public_url': PUBLIC }, ...ofProviders) as Record<string, string>,
  )

  const { json } = await service.request<{ methods: { method: string; metadata?: { providers: object } }[] }>(
    'GET',
    '/auth/v1/method',
  )
  t.strictSame(
    Object.keys(json.methods.find(({ method }) => method === 'METHOD_OIDC')!.metadata!.providers),
    names,
    'one login button a provider',
  )

  for (const [name, login] of [
    ['one', 'alice'],
    ['two', 'bob'],
  ] as const) {
    const path = `/auth/v1/method/oidc/${name}`
    const { authorizeUrl, cookie } = await begin(service, path)
    const address = await signIn(authorizeUrl, login, `${PUBLIC}${path}/callback`)
    const answer = await comeBack(service, path, address.searchParams, { cookie, accept: 'text/html' })
    t.equal(answer.status, 302)
    t.equal(answer.headers.location, '/', 'the browser goes on to the page it came from')
    t.equal(answer.json.clientToken, '', 'the token is in the cookie only')
    const { value } = cookiesOf(answer)['service_client_token']!
    t.match(answer.json.authentication, {
      method: 'METHOD_OIDC',
      metadata: {
        'io.service.auth.oidc.provider': name,
        'io.service.auth.oidc.email': users[login].email,
        'io.service.auth.oidc.sub': login,
      },
    })
    await works(t, service, value, answer.json.authentication.id)
  }
})

await t.test('a client token can be issued after a login at the code host', async (t) => {
  const host = await codehostStandIn(t)
  const service = await startService(t, { 'server.public_url': PUBLIC, ...codehostSettings(host.url) })
  const { authorizeUrl, cookie } = await begin(service, CODEHOST)
  t.equal(authorizeUrl.origin, host.url, 'an authorization URL directed at the code host')
  const answer = await comeBack(service, CODEHOST, await visit(authorizeUrl), { cookie })
  t.equal(answer.status, 302)
  t.match(answer.json.authentication, {
    method: 'METHOD_CODEHOST',
    metadata: { 'io.service.auth.codehost.preferred_username': 'alice', 'io.service.auth.codehost.sub': '7' },
  })
  await works(t, service, cookiesOf(answer)['service_client_token']!.value, answer.json.authentication.id)
})

for (const verification of ['token_review', 'jwks']) {
  await t.test(`a client token can be issued for a service account token (${verification})`, async (t) => {
    const cluster = await clusterStandIn(t)
    const service = await startService(t, {
      ...clusterSettings(cluster),
      'authentication.methods.orchestrator.verification': verification,
    })
    const exp = Math.floor(Date.now() / 1000) + 900
    const token = await cluster.token({ claims: { exp } })
    const { status, json } = await service.request<Issued>('POST', EXCHANGE, { service_account_token: token }, open)
    t.equal(status, 200)
    const { id, createdAt, updatedAt, ...authentication } = json.authentication
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, 'UUID-shaped')
    for (const time of [createdAt, updatedAt])
      t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'with fractional seconds')
    t.strictSame(authentication, {
      method: 'METHOD_ORCHESTRATOR',
      expiresAt: new Date(exp * 1000).toISOString().replace('.000Z', 'Z'),
      metadata: {
        'io.service.auth.orchestrator.credential.id': `JTI=${decodeJwt(token).jti}`,
        'io.service.auth.orchestrator.namespace': 'apps',
        'io.service.auth.orchestrator.pod.name': 'web-0',
        'io.service.auth.orchestrator.pod.uid': 'uid-of-pod',
        'io.service.auth.orchestrator.serviceaccount.name': 'web',
        'io.service.auth.orchestrator.serviceaccount.uid': 'uid-of-account',
      },
      status: 'ACTIVE',
    })
    await works(t, service, json.clientToken, id)
  })
}
