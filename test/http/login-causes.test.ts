import { copyFile, rename } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { generateKeyPair, SignJWT } from 'jose'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import type { LoginCause } from '../../src/base/login-causes.ts'
import { privateAuthority } from '../auth/stand-ins/authority.ts'
import { clusterStandIn } from '../auth/stand-ins/cluster.ts'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { type Lies, lyingClient, lyingProvider } from '../auth/stand-ins/liar.ts'
import { deadUrl, filler, json, listen, silence, unusable } from '../auth/stand-ins/listen.ts'
import { proxyStandIn } from '../auth/stand-ins/proxy.ts'
import { type Response, startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { OF_PERSON, rows } from './causes.ts'
import { logoutToken, sendLogout } from './logout-token.ts'
import {
  bearer,
  begin,
  CODEHOST,
  clusterSettings,
  codehostSettings,
  comeBack,
  cookiesOf,
  logIn,
  OIDC,
  oidcSettings,
  open,
  PUBLIC,
  visit,
} from './people.ts'
import { exchange, group } from './ruled.ts'
import { erasePeople } from './subjects.ts'

/** Providers at paths of one stand-in; some have an issuer that does not match. */
const PATHS = {
  main: '',
  fresh: '/fresh',
  slash: '/realm/',
  common: '/common/v2.0',
  b2c: '/tenant.example/in/v2.0',
  jwt: '/jwt',
  unruled: '/unruled',
  infos: '/infos',
  aged: '/aged',
}
const many = [1, 2, 3, 4, 5].map((n) =>
  group(`many-${n}`, ['many'], ...Array.from({ length: 60 }, (_, place) => `viewer@of-${n}-${place}`)),
)
const rules = [
  group('devs', ['devs'], 'viewer@*'),
  { ...group('boss', ['boss@example.com'], 'admin@*'), claim: 'email' },
  { ...group('realm', ['devs'], 'viewer@*'), claim: '/realm_access/roles' },
  ...many,
  { name: 'hosts', method: 'codehost', organizations: ['none'], grants: ['viewer@*'] },
  {
    name: 'pods',
    method: 'orchestrator',
    namespaces: ['odd.one'],
    service_accounts: ['web'],
    grants: ['server@{namespace}'],
  },
]

/** Starts a service with a provider for every failure. Its clock and the stand-ins' clock stand still. */
const everyCause = async (t: Test) => {
  const clock = virtualClock(new Date().toISOString())
  const [liar, host, cluster] = await Promise.all([
    lyingProvider(t),
    codehostStandIn(t),
    clusterStandIn(t, () => clock.now()),
  ])
  liar.now = () => clock.now().getTime()
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'nobody' }], { keyType: 'ec' })
  const untrusted = await listen(t, (_, response) => json(200, {})(response), { key, cert })
  const providers = Object.entries(PATHS).map(([name, path]) => oidcSettings(name, liar.url + path, lyingClient))
  const proxy = await proxyStandIn(t)
  proxy.credentials = 'a name:and a password'
  const authority = await privateAuthority(t)
  const service = await startService(
    t,
    {
      'server.public_url': PUBLIC,
      'rate_limit.enabled': 'false',
      ...Object.assign({}, ...providers),
      ...oidcSettings('dead', await deadUrl(), lyingClient),
      ...oidcSettings('untrusted', untrusted, lyingClient),
      ...oidcSettings('proxied', 'https://id.corp.example', lyingClient),
      'authentication.methods.oidc.providers.proxied.proxy': proxy.url,
      ...oidcSettings('unread', 'https://id.corp.example', lyingClient),
      'authentication.methods.oidc.providers.unread.ca_path': authority.caPath,
      ...codehostSettings(host.url),
      ...clusterSettings(cluster),
      'authentication.methods.oidc.providers.infos.claims': 'userinfo',
      'authentication.methods.oidc.providers.aged.authorize_parameters': '{"max_age":"60"}',
      'authentication.methods.oidc.email_matches': '[".*@example\\\\.com", "ada@partner\\\\.example"]',
      'authentication.methods.codehost.scopes': 'read:org',
      'authentication.methods.codehost.allowed_organizations': 'acme,beta',
      'authentication.methods.codehost.allowed_teams': '{"acme":["core"]}',
    },
    { clock, file: { authorization: { rules } } },
  )
  // The file of the authority is removed after the start.
  const kept = `${authority.caPath}.kept`
  const reopen = async (between: () => Promise<void>) => {
    await copyFile(kept, authority.caPath)
    await service.reopen(between)
    await rename(authority.caPath, kept)
  }
  await rename(authority.caPath, kept)
  return { service, clock, liar, host, cluster, reopen }
}
type World = Awaited<ReturnType<typeof everyCause>>
type Scenario = (world: World, id: string) => Promise<Response<unknown>>

const at = (name: keyof typeof PATHS | 'dead' | 'untrusted' | 'proxied' | 'unread') => `/auth/v1/method/oidc/${name}`
const asPage = { accept: 'text/html' }

/** Replaces `{url}` in a scripted answer by the address of the stand-in. */
const placed = <L extends Lies['document']>(lie: L, { liar: { url } }: World): L =>
  typeof lie === 'object'
    ? (Object.fromEntries(
        Object.entries(lie).map(([name, value]) => [
          name,
          typeof value === 'string' ? value.replaceAll('{url}', url) : value,
        ]),
      ) as L)
    : lie

/** Login that cannot start. */
const begins =
  (name: Parameters<typeof at>[0], document: Lies['document'] = {}): Scenario =>
  async (world, id) => {
    const { service, liar } = world
    liar.lies = { document: placed(document, world) }
    return service.request('GET', `${at(name)}/authorize`, undefined, { ...open, 'x-request-id': id })
  }

type Return = {
  readonly path?: string
  readonly document?: Lies['document']
  readonly lies?: Lies
  readonly host?: (host: World['host']) => void
  readonly query?: (query: URLSearchParams) => void
  readonly meanwhile?: (world: World) => Promise<void>
}

/** Login that is refused at its callback. */
const returns =
  ({ path = OIDC, document = {}, lies = {}, host: change, query: of, meanwhile }: Return): Scenario =>
  async (world, id) => {
    const { service, liar, host } = world
    liar.lies = { document: placed(document, world) }
    const { authorizeUrl, cookie } = await begin(service, path)
    const query = await visit(authorizeUrl)
    of?.(query)
    liar.lies = {
      document: placed(document, world),
      ...lies,
      ...(lies.claims && { claims: placed(lies.claims, world) }),
    }
    host.lies = {}
    change?.(host)
    await meanwhile?.(world)
    return comeBack(service, path, query, { cookie, 'x-request-id': id, ...asPage })
  }

/** Session of a person who was erased. */
const returnsErased: Scenario = async ({ service, liar, reopen }, id) => {
  liar.lies = { claims: { email: 'boss@example.com', email_verified: true } }
  const { token } = await logIn(service, OIDC)
  await erasePeople(service)
  await reopen(async () => undefined)
  return service.request('GET', '/auth/v1/self', undefined, { ...bearer(token), 'x-request-id': id })
}

const says = (claims: Record<string, unknown>): Scenario => returns({ lies: { claims } })
const ofMail = (claims: Record<string, unknown>): Scenario => says({ groups: ['devs'], ...claims })
const signs = (sign: Lies['sign'] & object): Scenario => returns({ lies: { sign } })
const sendsBack = (error: string, description = ''): Scenario =>
  returns({
    query: (query) => {
      query.delete('code')
      query.set('error', error)
      query.set('error_description', description)
    },
  })

/** The provider does not answer a step for five seconds. */
const silent =
  (step: 'document' | 'token' | 'keys', path: string): Scenario =>
  async (world, id) => {
    const { liar, clock } = world
    const isBegin = step === 'document'
    const login = isBegin
      ? begins('fresh', silence)(world, id)
      : returns({
          // Keys are cached for five minutes.
          meanwhile: async () => (step === 'keys' ? clock.advance(300_001) : undefined),
          lies: { [step]: silence },
        })(world, id)
    liar.asked.length = 0
    await eventually(() => liar.asked.includes(path), 'the call')
    await clock.advance(5_000)
    return login
  }

/** Provider whose claims come from userinfo. */
const told = (userinfo: Lies['userinfo'] & object): Scenario =>
  returns({
    path: at('infos'),
    document: { issuer: '{url}/infos' },
    lies: { claims: { iss: '{url}/infos' }, userinfo },
  })
const jwt =
  (text: string) =>
  (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'application/jwt' }).end(text)

const member = (organizations: readonly string[], teams: readonly [string, string][] = []): Scenario =>
  returns({
    path: CODEHOST,
    host: (host) => {
      host.organizations = organizations.map((login) => ({ login }))
      host.teams = teams.map(([login, slug]) => ({ slug, organization: { login } }))
    },
  })

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signedBy = async (claims: Record<string, unknown>, alg: string, key?: Uint8Array, kid?: string) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg, ...(kid && { kid }) })
    .sign(key ?? (await generateKeyPair(alg)).privateKey)
const secret = Buffer.from(lyingClient.clientSecret)
const json401 = (error: string, error_description: string) => json(401, { error, error_description })

const LATE = /no answer within 5 s/
const MAIN = /the provider main/

/** Scenarios of each cause, with the values of the placeholders. */
const scenarios: Readonly<Record<LoginCause, readonly (readonly [Scenario, Readonly<Record<string, RegExp>>?])[]>> = {
  state_missing: [
    [async ({ service }, id) => comeBack(service, OIDC, 'state=x&code=y', { 'x-request-id': id, ...asPage })],
  ],
  state_mismatch: [[returns({ query: (query) => query.set('state', 'another') })]],
  login_expired: [[returns({ meanwhile: ({ clock }) => clock.advance(600_000) })]],
  login_signed_out: [
    [
      returns({
        // The provider signs the person out while the service waits for the ID token.
        meanwhile: async ({ service, liar }) => {
          const sign: Lies['sign'] = async (idToken) => {
            const { sub, iat } = idToken
            await sendLogout(service, await logoutToken(liar, { sub, iat }))
            return liar.signed({ ...idToken, groups: ['devs'], email: 'ada@example.com', email_verified: true })
          }
          liar.lies = { sign }
        },
      }),
    ],
  ],
  login_replayed: [
    [
      async (world, id) => {
        const { service } = world
        const { authorizeUrl, cookie } = await begin(service, OIDC)
        const query = await visit(authorizeUrl)
        await comeBack(service, OIDC, query, { cookie, ...asPage })
        return comeBack(service, OIDC, query, { cookie, 'x-request-id': id, ...asPage })
      },
    ],
  ],
  issuer_mismatch: [[returns({ query: (query) => query.set('iss', 'https://evil.example') })]],
  provider_denied: ['access_denied', 'login_required', 'interaction_required'].map((error) => [sendsBack(error)]),
  provider_settings: [
    [sendsBack('invalid_request', 'Pushed Authorization Request is only allowed.')],
    [sendsBack('invalid_request', 'code challenge method is not matching the configured one')],
    [sendsBack('invalid_scope')],
    [sendsBack('unauthorized_client', 'Standard flow is disabled for the client.')],
  ],
  provider_other: ['server_error', 'temporarily_unavailable', 'made_up', '<script>', 'constructor'].map((error) => [
    sendsBack(error),
  ]),
  code_refused: [
    [returns({ lies: { token: json(400, { error: 'invalid_grant' }) } }), { step: /token endpoint/, host: /127/ }],
    [
      returns({ path: CODEHOST, query: (query) => query.set('code', 'wrong') }),
      { step: /token endpoint/, host: /127/ },
    ],
  ],
  client_refused: [
    // Wrong secret as reported by Keycloak; private_key_jwt required by Keycloak and Hydra; Gitea; the public code
    // host.
    [returns({ lies: { token: json401('unauthorized_client', 'Invalid client or Invalid client credentials') } })],
    [returns({ lies: { token: json401('invalid_client', 'Parameter client_assertion_type is missing') } })],
    [returns({ lies: { token: json(400, { error: 'unauthorized_client' }) } })],
    [
      returns({
        path: CODEHOST,
        host: (host) => {
          host.lies = { '/login/oauth/access_token': json(200, { error: 'incorrect_client_credentials' }) }
        },
      }),
    ],
    [
      returns({
        path: at('jwt'),
        document: {
          issuer: '{url}/jwt',
          token_endpoint_auth_methods_supported: ['private_key_jwt', 'tls_client_auth'],
        },
        lies: { token: json401('invalid_client', 'no client_assertion') },
      }),
    ],
  ].map(([scenario]) => [
    scenario!,
    {
      step: /token endpoint/,
      host: /127/,
      what: /(, and the provider supports no client authentication method that Rollcall supports)?/,
    },
  ]),
  answer_refused: [
    [begins('fresh', unusable['404']), { step: /discovery/, host: /127/, status: /404/ }],
    [begins('fresh', unusable['a redirect']), { step: /discovery/, host: /127/, status: /302/ }],
    [returns({ lies: { token: unusable['404']! } }), { step: /token endpoint/, host: /127/, status: /404/ }],
    [
      returns({ path: CODEHOST, host: (host) => (host.lies = { '/api/user/orgs': json(403, {}) }) }),
      { step: /\/user\/orgs/, host: /127/, status: /403/ },
    ],
  ],
  issuer_other: [
    [begins('slash', { issuer: '{url}/realm' }), { part: /trailing slash/ }],
    [begins('fresh', { issuer: '{url}/fresh/' }), { part: /trailing slash/ }],
    [begins('common', { issuer: '{url}/{tenantid}/v2.0' }), { part: /tenant, which is a placeholder/ }],
    [begins('b2c', { issuer: '{url}/0f5c/v2.0/' }), { part: /path/ }],
    [begins('fresh', { issuer: 'https://elsewhere.example/fresh' }), { part: /scheme/ }],
    [begins('fresh', { issuer: 'http://elsewhere.example/fresh' }), { part: /host/ }],
  ],
  document_incomplete: [
    [begins('fresh', { issuer: undefined }), { member: /issuer/ }],
    [begins('fresh', { issuer: '{url}/fresh', token_endpoint: 7 }), { member: /token_endpoint/ }],
    [begins('fresh', { issuer: '{url}/fresh', jwks_uri: 'javascript:alert(1)' }), { member: /jwks_uri/ }],
    [
      begins('fresh', { issuer: '{url}/fresh', id_token_signing_alg_values_supported: ['HS256', 'none'] }),
      { member: /algorithm for ID tokens/ },
    ],
    [
      begins('fresh', { issuer: '{url}/fresh', require_pushed_authorization_requests: true }),
      { member: /authorization endpoint, because it requires pushed authorization requests \(PAR\)/ },
    ],
  ],
  id_token_algorithm: [
    [signs(() => `${part({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`), { what: /encrypted/ }],
    [signs(() => `${part({ alg: 'dir', enc: 'A256GCM' })}..b.c.d`), { what: /encrypted/ }],
    [signs((claims) => signedBy(claims, 'HS256', secret)), { what: /signed with a secret.*/ }],
    [signs((claims) => signedBy(claims, 'HS512', Buffer.concat([secret, secret]))), { what: /signed with a secret.*/ }],
    [signs((claims) => `${part({ alg: 'none' })}.${part(claims)}.`), { what: /not signed/ }],
    [signs((claims) => signedBy(claims, 'ES384')), { what: /signed with an algorithm that Rollcall.*/ }],
    [signs(() => `${part({ alg: 'made-up' })}.e30.x`), { what: /signed with an algorithm that Rollcall.*/ }],
  ],
  id_token_key: [
    [signs((claims) => signedBy(claims, 'ES256', undefined, 'unknown')), { what: /no single key that fits it/ }],
    [signs((claims) => signedBy(claims, 'ES256')), { what: /a wrong signature/ }],
  ],
  id_token_claims: [
    [says({ iss: 'https://evil.example' }), { claim: /iss/ }],
    [says({ aud: 'another' }), { claim: /aud/ }],
    [says({ aud: [lyingClient.clientId, 'x'], azp: 'x' }), { claim: /a(ud|zp)/ }],
    [says({ nonce: 'of another login' }), { claim: /nonce/ }],
  ],
  id_token_time: [
    [says({ exp: 1 }), { claim: /exp or nbf/ }],
    [says({ nbf: 9_999_999_999 }), { claim: /exp or nbf/ }],
    [
      returns({
        path: at('aged'),
        document: { issuer: '{url}/aged' },
        lies: { claims: { iss: '{url}/aged', auth_time: 1 } },
      }),
      { claim: /auth_time is older than max_age/ },
    ],
  ],
  id_token_malformed: [
    [signs(() => 'none'), { what: /is not a signed JWT/ }],
    [says({ sub: undefined }), { what: /lacks the claim sub/ }],
    [says({ sub: '' }), { what: /has no usable claim sub/ }],
    [says({ exp: undefined }), { what: /lacks the claim exp/ }],
    [says({ nonce: undefined }), { what: /lacks the claim nonce/ }],
    [says({ iat: 'now' }), { what: /has a claim iat of a wrong type/ }],
  ],
  unreachable: [
    [begins('dead'), { step: /discovery/, host: /127/, what: /ECONNREFUSED/ }],
    [
      returns({ lies: { token: unusable['a closed connection']! } }),
      { step: /token/, host: /127/, what: /ECONNRESET/ },
    ],
    [silent('document', '/fresh/.well-known/openid-configuration'), { step: /discovery/, host: /127/, what: LATE }],
    [silent('token', '/token'), { step: /token endpoint/, host: /127/, what: LATE }],
    [silent('keys', '/keys'), { step: /keys/, host: /127/, what: LATE }],
  ],
  certificate: [
    [begins('untrusted'), { step: /discovery/, host: /127/, what: /its certificate is not trusted \([A-Z_]+\)/ }],
    [
      begins('unread'),
      { step: /discovery/, host: /id\.corp/, what: /the certificate authority \S+ cannot be read \(ENOENT\)/ },
    ],
  ],
  proxy_failing: [
    [
      begins('proxied'),
      { step: /discovery/, host: /id\.corp\.example/, what: /the proxy 127\S+ answered with status 407/ },
    ],
  ],
  userinfo_unfit: [
    [
      told(json(401, { error: 'invalid_token' })),
      { what: /userinfo at 127\S+ refused the access token with status 401/ },
    ],
    [told(json(403, {})), { what: /userinfo at 127\S+ refused the access token with status 403/ }],
    [told(jwt('a.b.c.d.e')), { what: /it is encrypted/ }],
    [told({ sub: 'mallory' }), { what: /it is about another person than the ID token \(sub\)/ }],
    [told(jwt('none')), { what: /OAUTH_[A-Z_]+/ }],
    [told({ sub: 7 }), { what: /OAUTH_[A-Z_]+/ }],
  ],
  identity_large: [
    [returns({ lies: { token: filler } }), { what: /token endpoint at 127\S+ answered with more than 1 MiB/ }],
    [
      returns({ path: CODEHOST, host: (host) => (host.lies = { '/api/user': json(200, { id: 7, ...filler }) }) }),
      { what: /\/user at 127\S+ answered with more than 1 MiB/ },
    ],
    [says({ name: 'g'.repeat(50_000) }), { what: /the claims that rules use exceed 40960 bytes/ }],
  ],
  answer_unusable: [
    [begins('fresh', unusable['500']), { step: /discovery/, host: /127/, what: /answered with status 500/ }],
    [
      returns({ lies: { token: unusable['429']! } }),
      { step: /token endpoint/, host: /127/, what: /answered with status 429/ },
    ],
    [begins('fresh', unusable['HTML']), { step: /discovery/, host: /127/, what: /answer is not JSON/ }],
    [
      returns({ lies: { token: { access_token: '' } } }),
      { step: /token/, host: /127/, what: /without an access token/ },
    ],
    [returns({ lies: { token: { token_type: undefined } } }), { step: /token/, host: /127/, what: /token_type/ }],
    [returns({ lies: { token: { token_type: 'MAC' } } }), { step: /token/, host: /127/, what: /neither Bearer nor/ }],
    [returns({ lies: { token: { id_token: 7 } } }), { step: /token/, host: /127/, what: /answer without an ID token/ }],
  ],
  email_absent: [[ofMail({})], [ofMail({ email: ['a@example.com'], email_verified: true })]],
  email_unverified: [[ofMail({ email: 'a@example.com', email_verified: false })]],
  email_unsaid: [[ofMail({ email: 'a@example.com' })]],
  email_gone: [[returnsErased]],
  email_unmatched: [
    [ofMail({ email: 'a@elsewhere.example', email_verified: true })],
    [ofMail({ email: 'eve@partner.example', email_verified: true })],
  ],
  membership_other: [[member([])], [member(['gamma'], [['acme', 'core']])]],
  membership_team: [[member(['acme'], [['acme', 'other']])], [member(['beta'], [['beta', 'core']])]],
  grant_unmatched: [
    [
      says({ email: 'a@example.com', email_verified: true, groups: ['others'] }),
      { rules: /8/, way: MAIN, what: /; without one of any_of: groups, email; absent: \/realm_access\/roles/ },
    ],
    [
      says({
        email: 'a@example.com',
        email_verified: true,
        _claim_names: { groups: 'x' },
        realm_access: { roles: [7] },
      }),
      {
        rules: /8/,
        way: MAIN,
        what: /; only a reference: groups; without one of any_of: email; without a text: \/realm_access\/roles/,
      },
    ],
    [
      member(['acme', 'gamma'], [['acme', 'core']]),
      { rules: /1/, way: /the code host/, what: /; organizations kept of this person: 1, teams: 1/ },
    ],
    [
      ({ service, cluster }, id) => exchange(service, cluster, ['apps', 'web'], { 'x-request-id': id }),
      { rules: /1/, way: /service accounts/, what: /(?:)/ },
    ],
    [
      returns({
        path: at('unruled'),
        document: { issuer: '{url}/unruled' },
        lies: { claims: { iss: '{url}/unruled', email: 'a@example.com', email_verified: true } },
      }),
      { rules: /0/, way: /the provider unruled/, what: /(?:)/ },
    ],
  ],
  grant_nowhere: [
    [({ service, cluster }, id) => exchange(service, cluster, ['odd.one', 'web'], { 'x-request-id': id })],
  ],
  grant_many: [[says({ email: 'a@example.com', email_verified: true, groups: ['many'] }), { most: /256/ }]],
}

const filled = (template: string, gaps: Readonly<Record<string, RegExp>> = {}): RegExp =>
  new RegExp(
    `^${template
      .split(/\{(\w+)\}/)
      .map((text, n) =>
        n % 2 === 0 ? text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&') : (gaps[text]?.source ?? 'NOT FILLED'),
      )
      .join('.*')}$`,
  )

type Problem = { readonly details: readonly [{ readonly value: { readonly reason: string } }] }
/** Reason sent to a client, in the address of the page or in the answer. */
const reasonTold = ({ status, headers, json }: Response<unknown>): string =>
  status === 302
    ? new URL(headers.location!, PUBLIC).searchParams.get('error')!
    : (json as Problem).details[0].value.reason

await t.test('each cause of a failed login can occur, and is logged with advice', async (t) => {
  const world = await everyCause(t)
  const { service } = world
  for (const { cause, reason, why, change } of rows)
    for (const [n, [scenario, gaps]] of scenarios[cause].entries())
      await t.test(`the failed login "${cause}" has the log line of the table, case ${n}`, async (t) => {
        const id = `${cause}-${n}`
        const answer = await scenario(world, id)
        const lines = (await service.logged())
          .split('\n')
          .filter((line) => line.includes(`"requestId":"${id}"`) && line.includes('was refused'))
        t.equal(lines.length, 1, 'one line')
        const line = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>
        t.match(line, { reason, cause, why: filled(why, gaps), change })
        t.equal(reasonTold(answer), reason === 'provider_error' ? (line['providerError'] ?? reason) : reason)
        const { service_client_state: seen } = cookiesOf(answer)
        t.equal(
          seen !== undefined,
          OF_PERSON.includes(reason) && answer.status === 302,
          'the account of a person is shown',
        )
        if (!seen) return
        const session = await service.request<{ refused: unknown }>('GET', '/auth/v1/self/session', undefined, {
          ...open,
          cookie: `service_client_state=${seen.value}`,
        })
        t.match(session.json.refused, { requestId: id, cause })
      })
  t.notMatch(await service.logged(), /canary|evil|Keycloak|NOT FILLED|\{\w+\} (at|of)/)
})
