import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type Config, loadConfig } from '../../src/config/load.ts'
import { isConfigError, type Problem } from '../../src/config/problem.ts'
import { authorityFile } from '../authority.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-config-'))
let files = 0
const load = (tree: object): Config => {
  const file = join(folder, `${++files}.json`)
  writeFileSync(file, JSON.stringify(tree))
  return loadConfig({ file, env: {} }).config
}
const problems = (tree: object): readonly Problem[] => {
  try {
    load(tree)
    return []
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.problems
  }
}
/** Converts `{ 'a.b': 1 }` to `{ a: { b: 1 } }`. */
const nested = (flat: Readonly<Record<string, unknown>>): object => {
  const tree: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(flat)) {
    const path = key.split('.')
    const last = path.pop()!
    let at = tree
    for (const name of path) at = (at[name] ??= {}) as Record<string, unknown>
    at[last] = value
  }
  return tree
}

const M = 'authentication.methods'
const google = {
  issuer_url: 'https://id.example.com',
  client_id: 'a',
  client_secret: 'b',
  redirect_address: 'https://r.example.com',
}
const cluster = {
  'storage.type': 'cluster',
  'eventstore.url': 'esdb://e:2113',
  'mongodb.url': 'mongodb://a:1,b:2/',
  'redis.url': 'redis://r',
}
const codehost = {
  [`${M}.codehost.enabled`]: true,
  [`${M}.codehost.client_id`]: 'a',
  [`${M}.codehost.client_secret`]: 'b',
  'server.public_url': 'https://x.example.com',
}
const here = join(folder, 'here.pem')
writeFileSync(here, '')

type Case = Readonly<Record<string, unknown>>
/** Each rule of api.md §12 with settings that satisfy it. */
const good: Readonly<Record<string, Case>> = {
  'nothing at all': {},
  'a section without settings': { server: null },
  'words in any case': { 'log.level': 'debug' },
  'any free port': { 'server.http_port': 0 },
  'no authentication and no method': { 'authentication.required': false, [`${M}.token.enabled`]: false },
  'proxies by address and network': { 'server.trust_proxy': ['10.0.0.0/8', '::1', 'fd00::/8'] },
  'every proxy': { 'server.trust_proxy': true },
  'https with its files': { 'server.protocol': 'https', 'server.cert_file': here, 'server.cert_key': here },
  'a cluster with its servers': cluster,
  'every origin': { 'cors.enabled': true, 'cors.allowed_origins': ['*', 'https://a.example.com:8443'] },
  'a bootstrap token of 16': { [`${M}.token.bootstrap.token`]: 'aZ09._~+/=-aaaaa' },
  'a bootstrap token of 255': { [`${M}.token.bootstrap.token`]: 'a'.repeat(255) },
  'metadata of the caller’s own': {
    [`${M}.token.bootstrap`]: { metadata: { role: 'admin', 'io.service.auth.role': 'x', empty: '' } },
  },
  'metadata as long as the API takes it': {
    [`${M}.token.bootstrap`]: { metadata: { ['\u{1f600}'.repeat(128)]: '\u{1f600}'.repeat(1024) } },
  },
  'an issuer on loopback over http': {
    [`${M}.oidc.providers`]: { g: { ...google, issuer_url: 'http://127.0.0.1:9000/realm/' } },
  },
  'a provider’s own redirect address': { [`${M}.oidc.providers`]: { 'g-1_x': google } },
  'settings without effect': {
    [`${M}.oidc.providers`]: { g: { ...google, nonce: 5, use_pkce: [] } },
    'authentication.session.csrf': { key: 'k', secure: 'x' },
  },
  'a whole code host': codehost,
  'teams of allowed organizations': {
    ...codehost,
    [`${M}.codehost.scopes`]: ['read:org'],
    [`${M}.codehost.allowed_organizations`]: ['acme'],
    [`${M}.codehost.allowed_teams`]: { acme: ['core'] },
  },
  'a cluster with its authority': { [`${M}.orchestrator.enabled`]: true, [`${M}.orchestrator.ca_path`]: authorityFile },
  'a cluster on loopback': {
    [`${M}.orchestrator.enabled`]: true,
    [`${M}.orchestrator.discovery_url`]: 'http://localhost:1',
  },
  'allowed accounts': { [`${M}.orchestrator.allowed`]: [{ namespace: '*', service_accounts: ['a', '*'] }] },
  'groups of GitLab': {
    ...codehost,
    [`${M}.codehost.kind`]: 'gitlab',
    [`${M}.codehost.scopes`]: ['read_api'],
    [`${M}.codehost.allowed_organizations`]: ['acme/web', 'a.b_c'],
  },
  'patterns of several domains': { [`${M}.oidc.email_matches`]: ['.*@a\\.com|.*@b\\.com', '[^@]+@(a|b)\\.com'] },
  'a base path that ends like a route': { 'server.public_url': 'https://a.example.com/auth' },
  'a reserved method that is off': { [`${M}.jwt`]: { enabled: false, issuer: 'x' } },
  'other words': {
    identifiers: { service: 'acme', codehost: 'github', orchestrator: 'kubernetes', orchestrator_metadata: 'k8s' },
  },
}
for (const [name, flat] of Object.entries(good)) {
  await t.test(`the configuration accepts this value: ${name}`, async (t) => {
    t.strictSame(problems(nested(flat)), [])
  })
}

const providerWith = (more: object): Case => ({ [`${M}.oidc.providers`]: { g: { ...google, ...more } } })
const P = `${M}.oidc.providers.g`
/** Values that are well-formed and can match or work with nothing. */
const hopeless: readonly (readonly [key: string, value: unknown, part?: string])[] = [
  ['server.public_url', 'https://a.example.com/auth/v1/method/oidc/corp/callback'],
  [`${M}.codehost.redirect_address`, 'https://a.example.com/base/auth/v1/method/codehost/callback/'],
  ['cors.allowed_origins', ['https://*.example.com'], '[0]'],
  ['authentication.session.csrf.trusted_origins', ['https://a.example.com', 'https://*'], '[1]'],
  [`${M}.orchestrator.discovery_url`, 'https://10.0.0.1:6443/.well-known/openid-configuration'],
  [`${M}.orchestrator.discovery_url`, 'https://<api server>'],
  [`${M}.orchestrator.allowed`, [{ namespace: 'team-*', service_accounts: ['web'] }], '[0].namespace'],
  [
    `${M}.orchestrator.allowed`,
    [{ namespace: 'apps', service_accounts: ['*', 'apps/web'] }],
    '[0].service_accounts[1]',
  ],
  [`${M}.codehost.allowed_organizations`, ['Acme Inc'], '[0]'],
  [`${M}.codehost.allowed_organizations`, ['acme', '*'], '[1]'],
  [`${M}.codehost.allowed_teams`, { acme: ['Shop Team'] }, '.acme[0]'],
  [`${M}.codehost.allowed_teams`, { acme: ['acme/shop'] }, '.acme[0]'],
  [`${M}.orchestrator.audiences`, ['rollcall '], '[0]'],
  [`${M}.oidc.email_matches`, ['@example\\.com|@example\\.org'], '[0]'],
  [`${M}.oidc.email_matches`, ['.*@example\\.com', '.*@example\\.com '], '[1]'],
  [
    'authorization.rules',
    [{ name: 'a', method: 'codehost', teams: ['acme/Shop Team'], grants: ['viewer@*'] }],
    '[0].teams[0]',
  ],
  [
    'authorization.rules',
    [{ name: 'a', method: 'codehost', organizations: ['*'], grants: ['viewer@*'] }],
    '[0].organizations[0]',
  ],
  [
    'authorization.rules',
    [{ name: 'a', method: 'orchestrator', namespaces: ['a-*'], service_accounts: ['*'], grants: ['viewer@*'] }],
    '[0].namespaces[0]',
  ],
]
for (const [key, value, part = ''] of hopeless)
  await t.test(`a value that can match nothing is refused: ${key} ${part}`, async (t) => {
    t.match(problems(nested({ [key]: value })), [{ key: key + part, description: /must|match/ }])
  })
for (const issuer_url of ['https://id.example.com/{tenantid}/v2.0', 'https://login.microsoftonline.com/common/v2.0'])
  await t.test(`an issuer of no tenant is refused: ${issuer_url}`, async (t) => {
    t.match(problems(nested(providerWith({ issuer_url }))), [{ key: `${P}.issuer_url`, description: /^must/ }])
  })

/** Each rule with settings that violate it, and the reported key. */
const bad: readonly (readonly [key: string, flat: Case, at?: string])[] = [
  ['nothing.such', { nothing: { such: 1 } }, 'nothing'],
  ['server.http_prt', { 'server.http_prt': 1 }],
  ['server', { server: 'x' }],
  ['version', { version: '2.0' }],
  ['version', { version: 1 }],
  ['log.level', { 'log.level': 'LOUD' }],
  ['log.encoding', { 'log.encoding': 'xml' }],
  ['log.file', { 'log.file': '' }],
  ['server.protocol', { 'server.protocol': 'gopher' }],
  ['server.host', { 'server.host': 5 }],
  ['server.headers_timeout', { 'server.headers_timeout': '11s' }],
  ['server.http_port', { 'server.http_port': 65_536 }],
  ['server.http_port', { 'server.http_port': '8080' }],
  ['server.https_port', { 'server.https_port': -1 }],
  ['server.cert_file', { 'server.protocol': 'https', 'server.cert_key': here }],
  ['server.cert_key', { 'server.protocol': 'https', 'server.cert_file': here }],
  ['server.cert_key', { 'server.protocol': 'https', 'server.cert_file': here, 'server.cert_key': `${here}.not` }],
  ['server.public_url', { 'server.public_url': 'example.com' }],
  ['server.public_url', { 'server.public_url': 'ftp://example.com' }],
  ['server.public_url', { 'server.public_url': 'https://u:p@example.com' }],
  ['server.public_url', { 'server.public_url': 'https://example.com/?a=b' }],
  ['server.trust_proxy', { 'server.trust_proxy': 'yes' }],
  ['server.trust_proxy[1]', { 'server.trust_proxy': ['10.0.0.1', '10.0.0.0/33'] }],
  ['server.trust_proxy[0]', { 'server.trust_proxy': ['proxy.example.com'] }],
  ['server.body_limit', { 'server.body_limit': 0 }],
  ['server.body_limit', { 'server.body_limit': 1.5 }],
  ['server.headers_timeout', { 'server.headers_timeout': 5 }],
  ['server.request_timeout', { 'server.request_timeout': '0s' }],
  ['ui.enabled', { 'ui.enabled': 'yes' }],
  ['ui.default_theme', { 'ui.default_theme': 'pink' }],
  ['ui.topbar.color', { 'ui.topbar.color': 'red;}' }],
  ['cors.allowed_origins', { 'cors.enabled': true }],
  ['cors.allowed_origins[0]', { 'cors.enabled': true, 'cors.allowed_origins': ['https://a.example.com/'] }],
  ['cors.allowed_headers[0]', { 'cors.allowed_headers': ['a b'] }],
  ['rate_limit.enabled', { 'rate_limit.enabled': 1 }],
  ['rate_limit.client', { 'rate_limit.client': -1 }],
  ['metrics.enabled', { 'metrics.enabled': null, 'metrics.x': 1 }, 'metrics.x'],
  ...['9090', 'localhost', 'host:70000', '[1.2.3.4]:9090', '::1:9090', 'http://host:9090', 'a b:9090'].map(
    (address) => ['metrics.address', { 'metrics.address': address }] as const,
  ),
  ['metrics.flag_labels', { 'metrics.flag_labels': 'yes' }],
  ['storage.type', { 'storage.type': 'cloud' }],
  ['storage.data_dir', { 'storage.data_dir': '' }],
  ['eventstore.url', { ...cluster, 'eventstore.url': null }],
  ['eventstore.url', { 'eventstore.url': 'http://e' }],
  ['mongodb.url', { ...cluster, 'mongodb.url': null }],
  ...['a b', '', 'a.b', 'x'.repeat(64), 'admin', 'local', 'config', 'Local'].map(
    (database) => ['mongodb.database', { 'mongodb.database': database }] as const,
  ),
  ['redis.url', { ...cluster, 'redis.url': null }],
  ['redis.url', { 'redis.url': 'redis://' }],
  ['identifiers.service', { 'identifiers.service': 'Acme' }],
  ['identifiers.codehost', { 'identifiers.codehost': 'a'.repeat(33) }],
  ['identifiers.codehost', { 'identifiers.codehost': 'oidc' }],
  ['identifiers.orchestrator', { 'identifiers.orchestrator': 'codehost' }],
  ['identifiers.orchestrator_metadata', { 'identifiers.orchestrator_metadata': '9' }],
  ['authentication.required', { [`${M}.token.enabled`]: false }],
  ['authentication.session.domain', { 'authentication.session.domain': 'a b' }],
  ['authentication.session.secure', { 'authentication.session.secure': 'maybe' }],
  ['authentication.session.token_lifetime', { 'authentication.session.token_lifetime': '-1h' }],
  ['authentication.session.state_lifetime', { 'authentication.session.state_lifetime': '0ms' }],
  [
    'authentication.session.csrf.trusted_origins[0]',
    { 'authentication.session.csrf.trusted_origins': ['app.example.com'] },
  ],
  [`${M}.token.bootstrap.token`, { [`${M}.token.bootstrap.token`]: 'a'.repeat(15) }],
  [`${M}.token.bootstrap.token`, { [`${M}.token.bootstrap.token`]: 'a'.repeat(256) }],
  [`${M}.token.bootstrap.token`, { [`${M}.token.bootstrap.token`]: 'aaaaaaaaaaaaaaaa b' }],
  [`${M}.token.bootstrap.token`, { [`${M}.token.bootstrap.token`]: '' }],
  [`${M}.token.bootstrap.expiration`, { [`${M}.token.bootstrap.expiration`]: '1 day' }],
  [`${M}.token.bootstrap.metadata`, { [`${M}.token.bootstrap`]: { metadata: { 'io.service.auth.token.name': 'x' } } }],
  ...[
    { 'io.acme.auth.kubernetes.pod': 'x' },
    { 'io.acme.auth.k8s.pod': 'x' },
    { 'io.service.auth.email': 'x' },
    { a: '\0' },
    { '\ud800': 'x' },
    { '': 'x' },
    { ['k'.repeat(129)]: 'x' },
    { a: '\u{1f600}'.repeat(1025) },
    Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 'x'])),
  ].map(
    (metadata) =>
      [
        `${M}.token.bootstrap.metadata`,
        {
          identifiers: { service: 'acme', orchestrator: 'kubernetes', orchestrator_metadata: 'k8s' },
          [`${M}.token.bootstrap`]: { metadata },
        },
      ] as const,
  ),
  ['identifiers.orchestrator_metadata', { 'identifiers.orchestrator_metadata': 'token' }],
  ['identifiers.orchestrator_metadata', { identifiers: { codehost: 'github', orchestrator_metadata: 'github' } }],
  [`${M}.token.bootstrap.metadata.a`, { [`${M}.token.bootstrap`]: { metadata: { a: 1 } } }],
  [`${M}.token.cleanup.interval`, { [`${M}.token.cleanup.interval`]: '0s' }],
  [`${M}.orchestrator.cleanup.grace_period`, { [`${M}.orchestrator.cleanup.grace_period`]: 'soon' }],
  [`${M}.oidc.email_matches[1]`, { [`${M}.oidc.email_matches`]: ['.*', '(?=a)'] }],
  [`${M}.oidc.providers.Google`, { [`${M}.oidc.providers`]: { Google: google } }],
  [`${M}.oidc.providers.__proto__`, { [`${M}.oidc.providers`]: JSON.parse('{"__proto__":{}}') as object }],
  [`${M}.oidc.providers.g.issuer_url`, { [`${M}.oidc.providers`]: { g: { ...google, issuer_url: undefined } } }],
  [
    `${M}.oidc.providers.g.issuer_url`,
    { [`${M}.oidc.providers`]: { g: { ...google, issuer_url: 'http://id.example.com' } } },
  ],
  [`${M}.oidc.providers.g.client_id`, { [`${M}.oidc.providers`]: { g: { ...google, client_id: '' } } }],
  [`${M}.oidc.providers.g.client_secret`, { [`${M}.oidc.providers`]: { g: { ...google, client_secret: null } } }],
  [
    `${M}.oidc.providers.g.client_secret`,
    { [`${M}.oidc.providers`]: { g: { ...google, client_authentication: 'none' } } },
  ],
  [
    `${M}.oidc.providers.g.client_authentication`,
    { [`${M}.oidc.providers`]: { g: { ...google, client_authentication: 'private_key_jwt' } } },
  ],
  [`${M}.oidc.providers.g.clock_tolerance`, { [`${M}.oidc.providers`]: { g: { ...google, clock_tolerance: '301s' } } }],
  [
    `${M}.oidc.providers.g.redirect_address`,
    { [`${M}.oidc.providers`]: { g: { ...google, redirect_address: undefined } } },
  ],
  [`${M}.oidc.providers.g.scope`, { [`${M}.oidc.providers`]: { g: { ...google, scope: [] } } }],
  [`${M}.oidc.providers.g.claims`, { [`${M}.oidc.providers`]: { g: { ...google, claims: 'both' } } }],
  ...[
    ...'client_id client_secret redirect_uri response_type response_mode scope state nonce code_challenge code_challenge_method request request_uri State'.split(
      ' ',
    ),
    'a b',
    'ü',
    '',
    'n'.repeat(65),
  ].flatMap((name): (typeof bad)[number][] => [
    [
      `${M}.oidc.providers.g.authorize_parameters.${name}`,
      { [`${M}.oidc.providers`]: { g: { ...google, authorize_parameters: { hd: 'x', [name]: 'x' } } } },
    ],
    [
      `${M}.codehost.authorize_parameters.${name}`,
      { ...codehost, [`${M}.codehost`]: { authorize_parameters: { [name]: 'x' } } },
    ],
  ]),
  ...['', 'a\nb', 'v'.repeat(1025)].map((value): (typeof bad)[number] => [
    `${M}.oidc.providers.g.authorize_parameters.hd`,
    { [`${M}.oidc.providers`]: { g: { ...google, authorize_parameters: { hd: value } } } },
  ]),
  [
    `${M}.oidc.providers.g.authorize_parameters.max_age`,
    { [`${M}.oidc.providers`]: { g: { ...google, authorize_parameters: { max_age: '1h' } } } },
  ],
  [
    `${M}.oidc.providers.g.authorize_parameters`,
    {
      [`${M}.oidc.providers`]: {
        g: {
          ...google,
          authorize_parameters: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`p${n}`, 'x'])),
        },
      },
    },
  ],
  [`${M}.codehost.client_id`, { ...codehost, [`${M}.codehost.client_id`]: null }],
  [`${M}.codehost.client_secret`, { ...codehost, [`${M}.codehost.client_secret`]: null }],
  [`${M}.codehost.redirect_address`, { ...codehost, 'server.public_url': null }],
  [`${M}.codehost.server_url`, { [`${M}.codehost.server_url`]: 'github.com' }],
  [`${M}.codehost.server_url`, { ...codehost, [`${M}.codehost.kind`]: 'gitea' }],
  [`${M}.codehost.kind`, { [`${M}.codehost.kind`]: 'bitbucket' }],
  ...(
    [
      ['gitlab', 'read:org'],
      ['gitlab', 'read_user'],
      ['gitea', 'read:org'],
      ['github', 'read_api'],
    ] as const
  ).map(([kind, scope]): (typeof bad)[number] => [
    `${M}.codehost.scopes`,
    {
      ...codehost,
      [`${M}.codehost`]: { kind, scopes: [scope], server_url: 'https://a.example', allowed_organizations: ['acme'] },
    },
  ]),
  [
    `${M}.codehost.allowed_teams`,
    {
      ...codehost,
      [`${M}.codehost`]: {
        kind: 'gitlab',
        scopes: ['read_api'],
        allowed_organizations: ['acme'],
        allowed_teams: { acme: ['core'] },
      },
    },
  ],
  [`${M}.codehost.scopes`, { ...codehost, [`${M}.codehost.allowed_organizations`]: ['acme'] }],
  [
    `${M}.codehost.allowed_teams`,
    { ...codehost, [`${M}.codehost.scopes`]: ['read:org'], [`${M}.codehost.allowed_teams`]: { acme: ['x'] } },
  ],
  [`${M}.orchestrator.verification`, { [`${M}.orchestrator.verification`]: 'trust' }],
  [`${M}.orchestrator.discovery_url`, { [`${M}.orchestrator.discovery_url`]: 'http://10.0.0.1' }],
  [`${M}.orchestrator.ca_path`, { [`${M}.orchestrator.enabled`]: true, [`${M}.orchestrator.ca_path`]: `${here}.not` }],
  [`${M}.orchestrator.ca_path`, { [`${M}.orchestrator.enabled`]: true, [`${M}.orchestrator.ca_path`]: here }],
  [`${M}.orchestrator.allowed[0].service_accounts`, { [`${M}.orchestrator.allowed`]: [{ namespace: 'a' }] }],
  [
    `${M}.orchestrator.allowed[0].service_accounts`,
    { [`${M}.orchestrator.allowed`]: [{ namespace: 'a', service_accounts: 'a' }] },
  ],
  [
    `${M}.orchestrator.allowed[0].service_accounts[1]`,
    { [`${M}.orchestrator.allowed`]: [{ namespace: 'a', service_accounts: ['a', 1] }] },
  ],
  [
    `${M}.orchestrator.allowed[0].names`,
    { [`${M}.orchestrator.allowed`]: [{ namespace: 'a', service_accounts: [], names: [] }] },
  ],
  [`${M}.jwt.enabled`, { [`${M}.jwt.enabled`]: true }],
]
await t.test('each violated requirement of settings is reported by key, and no other', async (t) => {
  for (const [key, flat, at = key] of bad) {
    const found = problems(nested(flat))
    t.strictSame([...new Set(found.map((problem) => problem.key))], [at], `${at} ${JSON.stringify(flat).slice(0, 90)}`)
  }
})

await t.test('a value of the wrong type is reported by its type, never by the value', async (t) => {
  const kinds: Readonly<Record<string, unknown>> = {
    'a string': 'hunter2',
    'a number': 7,
    'a boolean': true,
    'a map': { hunter2: 'hunter2' },
  }
  for (const [kind, value] of Object.entries(kinds))
    t.strictSame(
      problems(nested({ [`${M}.codehost.scopes`]: value })).map(({ description }) => description),
      [`expected a list, got ${kind}`],
    )
  t.match(problems(nested({ [`${M}.codehost.scopes`]: [['hunter2']] })), [{ description: /got a list$/ }])
  t.match(problems(nested({ [`${M}.codehost.scopes`]: [null] })), [{ description: /got nothing$/ }])
})

await t.test('probable mistakes in the configuration cause warnings', async (t) => {
  const warned = (flat: Case) => {
    const file = join(folder, `${++files}.json`)
    writeFileSync(file, JSON.stringify(nested(flat)))
    return loadConfig({ file, env: {} }).warnings
  }
  const nobody = `${M}.oidc.providers is empty, so OpenID Connect logins are impossible`
  t.ok(warned({ [`${M}.oidc.enabled`]: true }).includes(nobody))
  t.notOk(warned({ [`${M}.oidc.enabled`]: true, [`${M}.oidc.providers`]: { g: google } }).includes(nobody))

  const anyToken =
    /orchestrator\.audiences is empty, so a program that can read the default token of a pod can exchange it/
  const exchange = { [`${M}.orchestrator.enabled`]: true, [`${M}.orchestrator.ca_path`]: authorityFile }
  t.ok(warned(exchange).some((warning) => anyToken.test(warning)))
  t.notOk(warned({ ...exchange, [`${M}.orchestrator.audiences`]: ['rollcall'] }).some((one) => anyToken.test(one)))
  t.notOk(warned({ ...exchange, [`${M}.orchestrator.enabled`]: false }).some((one) => anyToken.test(one)))
})

await t.test('a connection without checked certificates causes a warning at each start', async (t) => {
  const warned = (flat: Case, env = {}) => {
    const file = join(folder, `${++files}.json`)
    writeFileSync(file, JSON.stringify(nested({ ...cluster, ...flat })))
    return loadConfig({ file, env }).warnings.filter((line) => /certificate/.test(line))
  }
  const address = (query: string) => ({ 'mongodb.url': `mongodb://name:hunter2@a:1,b:2/${query}` })
  for (const option of ['tlsInsecure', 'tlsAllowInvalidCertificates', 'TLSALLOWINVALIDHOSTNAMES', 'tls%49nsecure']) {
    const lines = warned(address(`?tls=true&${option}=true`))
    t.match(lines, [/^mongodb\.url does not check the certificate of the server.*: set tlsCAFile/], option)
    t.notMatch(lines.join(), /hunter2/)
    t.strictSame(warned(address(`?tls=true&${option}=false`)), [])
  }
  t.strictSame(warned(address('?tls=true&tlsCAFile=/x')), [])
  t.strictSame(warned({ ...address('?tlsInsecure=true'), 'storage.type': 'embedded' }), [])
  t.match(warned({}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }), [/^NODE_TLS_REJECT_UNAUTHORIZED=0 switches the checks/])
  t.strictSame(warned({}, { NODE_TLS_REJECT_UNAUTHORIZED: '1' }), [])
})

await t.test('some defaults follow from other settings', async (t) => {
  const plain = load({})
  t.equal(plain.authentication.session.secure, false)
  t.equal(plain.keys.file, './data/keys')
  t.equal(plain.identifiers.orchestrator_metadata, 'orchestrator')
  const other = load(
    nested({ ...cluster, ...codehost, 'identifiers.orchestrator': 'kubernetes', 'identifiers.service': 'acme' }),
  )
  t.equal(other.authentication.session.secure, true, 'public_url is https')
  t.equal(other.keys.file, undefined, 'a cluster keeps its keys in MongoDB')
  t.equal(other.identifiers.orchestrator_metadata, 'kubernetes')
  t.equal(other.authentication.methods.codehost.redirect_address, 'https://x.example.com')
  const apiOf = (given: object) => load(nested({ ...codehost, ...given })).authentication.methods.codehost.api_url
  const server = `${M}.codehost.server_url`
  t.equal(apiOf({}), 'https://api.github.com')
  t.equal(apiOf({ [server]: 'https://github.com/' }), 'https://api.github.com')
  t.equal(
    apiOf({ [server]: 'https://git.example.com/forge/' }),
    'https://git.example.com/forge/api/v3',
    'no token goes elsewhere',
  )
  t.equal(
    apiOf({ [server]: 'https://git.example.com', [`${M}.codehost.api_url`]: 'https://a.example' }),
    'https://a.example',
  )
  for (const [kind, given, server_url, api_url] of [
    ['github', undefined, 'https://github.com', 'https://api.github.com'],
    ['gitlab', undefined, 'https://gitlab.com', 'https://gitlab.com/api/v4'],
    ['gitlab', 'https://git.example.com/lab/', 'https://git.example.com/lab', 'https://git.example.com/lab/api/v4'],
    ['gitea', 'https://codeberg.example', 'https://codeberg.example', 'https://codeberg.example/api/v1'],
    ['gitea', 'https://github.com', 'https://github.com', 'https://github.com/api/v1'],
  ] as const) {
    const of = load(nested({ ...codehost, [`${M}.codehost.kind`]: kind, ...(given && { [server]: given }) }))
    t.match(of.authentication.methods.codehost, { kind, server_url, api_url })
  }
  t.ok(load(nested({ [`${M}.codehost.kind`]: 'gitea' })), 'where the method is off nothing is missing')
  t.strictSame(
    other.cors.allowed_headers,
    [
      'Accept Authorization Content-Type If-Match If-None-Match Idempotency-Key After-Position Event-Reason',
      'Last-Event-ID x-request-id traceparent tracestate',
      'X-Acme-Namespace x-acme-accept-server-version x-acme-environment',
    ].flatMap((names) => names.split(' ')),
  )
  t.equal(
    load(nested({ 'authentication.session.secure': false, 'server.public_url': 'https://a.b' })).authentication.session
      .secure,
    false,
  )
})

await t.test('addresses in the configuration are normalized', async (t) => {
  const { session } = load(nested({ 'authentication.session.domain': 'https://a.example.com:8443/x' })).authentication
  t.equal(session.domain, 'a.example.com')
  t.equal(
    load(nested({ 'server.public_url': 'https://a.example.com/base/' })).server.public_url,
    'https://a.example.com/base',
  )
  const { providers } = load(
    nested({ [`${M}.oidc.providers`]: { g: { ...google, issuer_url: 'https://id.example.com/' } } }),
  ).authentication.methods.oidc
  t.equal(providers.get('g')?.issuer_url, 'https://id.example.com/', 'an issuer stays letter for letter')
  t.equal(providers.get('constructor'), undefined)
})
