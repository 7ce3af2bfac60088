import t from 'tap'
import { startService } from '../start.ts'
import {
  bearer,
  begin,
  comeBack,
  cookiesOf,
  everyWay,
  type Issued,
  logIn,
  OIDC,
  open,
  refusalOf,
  visit,
} from './people.ts'

const words = {
  'identifiers.service': 'acme',
  'identifiers.codehost': 'forge',
  'identifiers.orchestrator': 'fleet',
  'identifiers.orchestrator_metadata': 'harbour',
}
const FORGE = '/auth/v1/method/forge'
const FLEET = '/auth/v1/method/fleet/serviceaccount'

await t.test('cookies, headers, paths and metadata keys contain only the configured names', async (t) => {
  const { service, cluster } = await everyWay(t, words)
  const { request } = service

  const { json } = await request<{ methods: { method: string; metadata?: object }[] }>(
    'GET',
    '/auth/v1/method',
    undefined,
    open,
  )
  t.strictSame(
    json.methods.map(({ method }) => method),
    ['METHOD_TOKEN', 'METHOD_FORGE', 'METHOD_OIDC', 'METHOD_FLEET'],
  )
  t.match(json.methods[1]!.metadata, { authorize_url: `${FORGE}/authorize`, callback_url: `${FORGE}/callback` })

  const { authorizeUrl, cookie, answer } = await begin(service, FORGE)
  const [[name, state] = []] = Object.entries(cookiesOf(answer))
  t.match(name, /^acme_client_state_[0-9a-f]{16}$/)
  t.match(state!.attributes, /; Path=\/auth\/v1\/method\/forge;/)
  t.match(authorizeUrl.searchParams.get('redirect_uri'), /\/auth\/v1\/method\/forge\/callback$/)
  const query = await visit(authorizeUrl)
  const neutral = await comeBack(service, FORGE, query, { cookie: cookie.replace('acme', 'service') })
  t.match(
    refusalOf(neutral),
    { reason: 'state_missing', message: 'handling codehost callback: missing state parameter' },
    'messages keep the neutral word',
  )
  const back = await comeBack(service, FORGE, query, { cookie, accept: 'application/json' })
  t.equal(back.json.authentication.method, 'METHOD_FORGE')
  t.equal(back.json.authentication.metadata['io.acme.auth.forge.sub'], '7')
  t.equal(back.json.authentication.metadata['io.acme.auth.email'], 'alice@example.com')
  const token = cookiesOf(back)['acme_client_token']!.value
  const self = (headers: Record<string, string>) => request('GET', '/auth/v1/self', undefined, { ...open, ...headers })
  t.equal((await self({ cookie: `acme_client_token=${token}` })).status, 200)
  t.equal((await self({ cookie: `service_client_token=${token}` })).status, 401)

  const exchanged = await request<Issued>('POST', FLEET, { service_account_token: await cluster.token() }, open)
  t.equal(exchanged.json.authentication.method, 'METHOD_FLEET')
  t.strictSame(
    Object.keys(exchanged.json.authentication.metadata).sort(),
    ['credential.id', 'namespace', 'pod.name', 'pod.uid', 'serviceaccount.name', 'serviceaccount.uid'].map(
      (key) => `io.acme.auth.harbour.${key}`,
    ),
  )
  for (const [method, path] of [
    ['GET', '/auth/v1/method/codehost/authorize'],
    ['GET', '/auth/v1/method/codehost/callback'],
    ['POST', '/auth/v1/method/orchestrator/serviceaccount'],
  ] as const)
    t.equal(refusalOf(await request(method, path, undefined, open)).reason, 'route_not_found', path)

  const total = async (search: string) =>
    (await request<{ totalCount: number }>('GET', `/auth/v1/tokens?${search}`)).json.totalCount
  t.equal(await total('method=METHOD_FORGE'), 1)
  t.equal(await total('method=4'), 1)
  t.equal(await total('method=METHOD_FLEET'), 1)
  t.equal(refusalOf(await request('GET', '/auth/v1/tokens?method=METHOD_CODEHOST')).reason, 'invalid_argument')
  t.match((await request('POST', '/auth/v1/tokens/revoke', { method: 'METHOD_FLEET', identity: 'apps/web' })).json, {
    revoked: 1,
  })

  const { text } = await request('GET', '/metrics')
  t.match(text, /^acme_logins_total\{provider="-",result="completed"\} 1$/m)
  t.notMatch(text, /^rollcall_/m)
})

await t.test('the namespace of a token is returned in a header with the configured name', async (t) => {
  const service = await startService(t, words)
  const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', {
    name: 'n',
    namespaceKey: 'default',
  })
  t.equal(json.authentication.metadata['io.acme.auth.token.namespace'], 'default')
  const ask = (headers: Readonly<Record<string, string>>) =>
    service.request(
      'POST',
      '/ofrep/v1/evaluate/flags/none',
      { context: { targetingKey: 'k' } },
      { ...bearer(json.clientToken), ...headers },
    )
  t.equal((await ask({ 'x-acme-namespace': 'other' })).status, 403, 'the header of this deployment says where')
  t.equal((await ask({ 'x-service-namespace': 'other' })).status, 403, 'and one of any other word, where it is absent')
  const both = { 'x-acme-namespace': 'default', 'x-service-namespace': 'other' }
  t.equal((await ask(both)).status, 404, 'where both are there, that of this deployment counts')
})

await t.test('old records are shown under the present names, and metadata of a user hides none', async (t) => {
  const { service } = await everyWay(t)
  const { authentication } = await logIn(service, OIDC)
  t.equal(authentication.metadata['io.service.auth.oidc.sub'], 'alice')
  const reserved = [
    'io.acme.auth.oidc.sub',
    'io.service.auth.oidc.sub',
    'io.acme.auth.forge.sub',
    'io.acme.auth.codehost.sub',
    'io.acme.auth.harbour.x',
    'io.service.auth.claims',
  ]
  const own = { 'io.acme.auth.token.name': 'mine', 'io.service.auth.role': 'admin', 'io.acme.auth.role': 'ops' }
  const made = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'ours', metadata: own })
  t.equal(
    made.json.authentication.metadata['io.acme.auth.token.name'],
    'mine',
    'another word is the caller’s own, until it is configured',
  )
  const { directory } = service
  await service.close()

  const renamed = await startService(t, words, { directory })
  const shown = async (id: string) =>
    (await renamed.request<Issued['authentication']>('GET', `/auth/v1/tokens/${id}`)).json.metadata
  t.equal((await shown(authentication.id))['io.acme.auth.oidc.sub'], 'alice')
  t.strictSame(
    await shown(made.json.authentication.id),
    { ...own, 'io.acme.auth.token.name': 'ours' },
    'the service’s key wins',
  )
  for (const key of reserved) {
    const answer = await renamed.request('POST', '/auth/v1/method/token', { name: 'n', metadata: { [key]: 'x' } })
    t.match(refusalOf(answer), { status: 400, message: `invalid field metadata: key "${key}" is reserved` })
  }
})
