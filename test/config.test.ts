import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { configSchema, exampleFile, publicConfig } from '../src/config/describe.ts'
import { emailMatcher } from '../src/config/email.ts'
import { type Environment, variableOf } from '../src/config/environment.ts'
import { loadConfig } from '../src/config/load.ts'
import { isConfigError, type Problem } from '../src/config/problem.ts'
import { leaves } from '../src/config/setting.ts'
import { settings } from '../src/config/settings.ts'
import { root } from './root.ts'
import { blocksRun } from './work.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-config-'))
let files = 0
const write = (content: string, ending = 'yml'): string => {
  const file = join(folder, `${++files}.${ending}`)
  writeFileSync(file, content)
  return file
}
const P = 'ROLLCALL_AUTHENTICATION_METHODS_OIDC_PROVIDERS'
const fromEnv = (env: Environment) => loadConfig({ env })
const failed = (load: () => unknown): { readonly message: string; readonly problems: readonly Problem[] } => {
  try {
    load()
  } catch (error) {
    if (isConfigError(error)) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}

await t.test('without a configuration file, variables and options every setting has its default', async (t) => {
  const { config, warnings, sources } = fromEnv({ PATH: '/bin' })
  t.strictSame(warnings, [])
  t.match(config, {
    authentication: {
      required: true,
      session: { token_lifetime: 86_400_000, state_lifetime: 600_000 },
      methods: { token: { enabled: true } },
    },
    server: { host: '0.0.0.0', http_port: 8080, body_limit: 4_194_304, trust_proxy: false },
    storage: { type: 'embedded', data_dir: './data', read_only: false },
  })
  t.ok([...sources.values()].every((source) => source === 'default'))
})

await t.test('YAML and JSON give the same configuration', async (t) => {
  const yaml = write('log:\n  level: WARN\nserver: {http_port: 1234}\n')
  const json = write('{\n\t"log": {"level": "WARN"},\n\t"server": {"http_port": 1234}\n}', 'json')
  t.strictSame(loadConfig({ file: yaml, env: {} }).config, loadConfig({ file: json, env: {} }).config)
  t.strictSame(loadConfig({ file: write(''), env: {} }).config, fromEnv({}).config)
})

await t.test('command-line options override the environment, and the environment overrides the file', async (t) => {
  const file = write('server:\n  http_port: 1\n  https_port: 1\n  host: file\n')
  const env = { ROLLCALL_SERVER_HTTP_PORT: '2', ROLLCALL_SERVER_HTTPS_PORT: '2' }
  const { config, sources } = loadConfig({ file, env, flags: { 'server.http_port': '3' } })
  t.match(config.server, { http_port: 3, https_port: 2, host: 'file', protocol: 'http' })
  t.equal(sources.get('server.http_port'), 'command line')
  t.equal(sources.get('server.https_port'), 'ROLLCALL_SERVER_HTTPS_PORT')
  t.match(sources.get('server.host'), /^\d+\.yml line 4$/)
  t.equal(sources.get('server.protocol'), 'default')
})

await t.test('every setting has an environment variable', async (t) => {
  for (const [key] of leaves(settings)) {
    const name = variableOf(key.replace('*', 'acme'))
    const { warnings } = (() => {
      try {
        return fromEnv({ [name]: '\u0000' })
      } catch (error) {
        if (!isConfigError(error)) throw error
        t.ok(
          error.problems.some(({ place }) => place === name || place === ''),
          name,
        )
        return { warnings: [] }
      }
    })()
    t.notOk(
      warnings.some((warning) => warning.startsWith(`${name} is not`)),
      name,
    )
  }
})

await t.test('booleans, numbers, durations, lists and maps are read from environment variables', async (t) => {
  const { config } = fromEnv({
    ROLLCALL_AUTHENTICATION_EXCLUDE_OFREP: 'true',
    ROLLCALL_METRICS_ENABLED: '0',
    ROLLCALL_SERVER_BODY_LIMIT: '1000',
    ROLLCALL_AUTHENTICATION_METHODS_TOKEN_CLEANUP_GRACE_PERIOD: '250ms',
    ROLLCALL_SERVER_TRUST_PROXY: '10.0.0.1, 10.1.0.0/16',
    ROLLCALL_AUTHENTICATION_METHODS_OIDC_EMAIL_MATCHES: '["a{1,2}@x"]',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_SCOPES: 'read:org,user,',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_ALLOWED_ORGANIZATIONS: 'acme',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_ALLOWED_TEAMS: '{"acme":["core"]}',
    ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_ALLOWED: '[{"namespace":"a","service_accounts":["*"]}]',
    ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_METADATA: '{"role":"admin"}',
  })
  const { methods, exclude } = config.authentication
  t.equal(exclude.ofrep, true)
  t.equal(config.metrics.enabled, false)
  t.equal(config.server.body_limit, 1000)
  t.equal(methods.token.cleanup.grace_period, 250)
  t.strictSame(config.server.trust_proxy, ['10.0.0.1', '10.1.0.0/16'])
  t.strictSame(methods.oidc.email_matches, ['a{1,2}@x'])
  t.strictSame(methods.codehost.scopes, ['read:org', 'user'])
  t.strictSame({ ...methods.codehost.allowed_teams }, { acme: ['core'] })
  t.strictSame(methods.orchestrator.allowed, [{ namespace: 'a', service_accounts: ['*'] }])
  t.strictSame({ ...methods.token.bootstrap.metadata }, { role: 'admin' })
})

await t.test('a provider from environment variables has a lower-case name and overrides the file', async (t) => {
  const one = {
    [`${P}_MY_IDP_ISSUER_URL`]: 'https://id.example.com',
    [`${P}_MY_IDP_CLIENT_ID`]: 'me',
    [`${P}_MY_IDP_CLIENT_SECRET`]: 's',
  }
  const env = { ...one, ROLLCALL_SERVER_PUBLIC_URL: 'https://me.example.com' }
  t.match(fromEnv(env).config.authentication.methods.oidc.providers.get('my_idp'), {
    client_id: 'me',
    redirect_address: 'https://me.example.com',
    scopes: [],
  })
  const file = write('authentication: {methods: {oidc: {providers: {my_idp: {client_id: file, scopes: [email]}}}}}')
  t.match(loadConfig({ file, env }).config.authentication.methods.oidc.providers.get('my_idp'), {
    client_id: 'me',
    scopes: ['email'],
  })
  const whole = {
    [P]: '{"x":{"issuer_url":"https://id.example.com","client_id":"c","client_secret":"s"}}',
    ROLLCALL_SERVER_PUBLIC_URL: 'http://a',
  }
  t.equal(fromEnv(whole).config.authentication.methods.oidc.providers.get('x')?.client_id, 'c')
})

await t.test('one environment variable can contain all providers as JSON', async (t) => {
  const { config } = fromEnv({
    [P]: '{"acme":{"issuer_url":"https://id.example.com","client_id":"me","client_secret":"s","redirect_address":"https://me.example.com"}}',
  })
  t.equal(config.authentication.methods.oidc.providers.get('acme')?.client_id, 'me')
  const { message } = failed(() => fromEnv({ [P]: 'hunter2' }))
  t.match(message, /methods\.oidc\.providers: expected a map of settings \(ROLLCALL_\w+_PROVIDERS\)/)
  t.notMatch(message, /hunter2/)
})

await t.test('the order of providers in the configuration is kept', async (t) => {
  const client = { issuer_url: 'https://id.example.com', client_id: 'me', client_secret: 's' }
  const names = ['zeta', '10', 'alpha', '2', '1']
  const given = names.map((name) => `${JSON.stringify(name)}: ${JSON.stringify(client)}`)
  const env = { ROLLCALL_SERVER_PUBLIC_URL: 'https://me.example.com' }
  const inOrder = (options: Parameters<typeof loadConfig>[0]) => [
    ...loadConfig(options).config.authentication.methods.oidc.providers.keys(),
  ]
  t.strictSame(inOrder({ env: { ...env, [P]: `{${given.join(', ')}}` } }), names, 'as JSON in a variable')
  const yaml = (list: readonly string[]) =>
    ['authentication:', '  methods:', '    oidc:', '      providers:', ...list.map((line) => `        ${line}`)].join(
      '\n',
    )
  t.strictSame(inOrder({ env, file: write(yaml(given)) }), names, 'in a file')
  t.strictSame(inOrder({ env, file: write(yaml(given.map((line) => line.replaceAll(/^"(\w+)"/g, '$1')))) }), names)
  const later = { [`${P}_0_ISSUER_URL`]: client.issuer_url, [`${P}_0_CLIENT_ID`]: 'me', [`${P}_0_CLIENT_SECRET`]: 's' }
  t.strictSame(inOrder({ env: { ...env, ...later }, file: write(yaml(given)) }), [...names, '0'], 'variables add to it')
})

await t.test('a setting is read from the file that its _FILE variable names', async (t) => {
  const T = 'ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN'
  const bootstrap = (content: string) =>
    fromEnv({ [`${T}_FILE`]: write(content, 'txt') }).config.authentication.methods.token.bootstrap.token
  t.equal(bootstrap('0123456789abcdef\n'), '0123456789abcdef')
  t.equal(bootstrap('0123456789abcdef\r\n'), '0123456789abcdef')
  t.throws(() => bootstrap('0123456789abcdef\n\n'), /bootstrap\.token/, 'one newline is cut, not two')
  t.equal(fromEnv({ ROLLCALL_LOG_FILE: 'x.log' }).config.log.file, 'x.log', 'a key that ends in file is itself')
  t.match(
    failed(() => fromEnv({ [T]: 'a'.repeat(16), [`${T}_FILE`]: write('b'.repeat(16)) })).message,
    /is set twice: by \S+TOKEN and by \S+TOKEN_FILE/,
  )
  const missing = failed(() => fromEnv({ [`${T}_FILE`]: 'hunter2-is-not-a-path' }))
  t.match(missing.message, /TOKEN_FILE cannot be read \(ENOENT\)/)
  t.notMatch(missing.message, /hunter2/, 'it may be the secret itself')
  t.match(fromEnv({ ROLLCALL_SERVER_HTTP_PORT_FILE: 'x' }).warnings, [/is not a setting/], 'a number is no text')
})

await t.test('unknown environment variables cause a warning, except those of the command line', async (t) => {
  t.match(fromEnv({ ROLLCALL_LOG_LEVL: 'x' }).warnings, [
    /^ROLLCALL_LOG_LEVL is not a setting.*did you mean ROLLCALL_LOG_LEVEL\?/,
  ])
  t.strictSame(
    fromEnv({
      ROLLCALL_TOKEN: 'a',
      ROLLCALL_TOKEN_FILE: 'b',
      ROLLCALL_ADDRESS: 'c',
      ROLLCALL_CONFIG: 'd',
      ROLLCALL_TEST_X_URL: 'e',
    }).warnings,
    [],
  )
  t.match(fromEnv({ ROLLCALL_REDIS_URL: 'redis://r' }).warnings, [/redis\.url has no effect/])
})

await t.test('the suggestion for an unknown setting has its words, or each word misspelt', async (t) => {
  const suggested = (name: string) => fromEnv({ [`ROLLCALL_${name}`]: 'x' }).warnings[0]?.split(' effect')[1]
  const http = 'ROLLCALL_SERVER_HTTP_PORT or ROLLCALL_SERVER_HTTPS_PORT'
  for (const [name, meant] of [
    ['SERVER_PORT', http],
    ['PORT', http],
    [
      'SERVER_TIMEOUT',
      'ROLLCALL_SERVER_HEADERS_TIMEOUT or ROLLCALL_SERVER_REQUEST_TIMEOUT or ROLLCALL_SERVER_KEEP_ALIVE_TIMEOUT',
    ],
    ['STORAGE_DIR', 'ROLLCALL_STORAGE_DATA_DIR'],
    ['DATA', 'ROLLCALL_STORAGE_DATA_DIR'],
    ['SERVER_HTTPPORT', 'ROLLCALL_SERVER_HTTP_PORT'],
    ['SERVER_HTPT_PORT', 'ROLLCALL_SERVER_HTTP_PORT'],
  ] as const)
    t.equal(suggested(name), ` (did you mean ${meant}?)`, name)
  for (const name of ['SERVER_COLOUR', 'STORAGE_KIND', 'SERVER_NAME_PORT']) t.equal(suggested(name), '', name)
  const file = write('server:\n  port: 1\n  wood: 2\n')
  const { message } = failed(() => loadConfig({ file, env: {} }))
  t.match(message, /server\.port: is not a setting \(did you mean http_port or https_port\?\)/)
  t.match(message, /server\.wood: is not a setting \(/)
})

await t.test('all problems of the configuration are reported at once, each with its key and line', async (t) => {
  const file = write('log:\n  level: LOUD\nserver:\n  http_prt: 1\n  body_limit: x\n')
  const { message, problems } = failed(() =>
    loadConfig({ file, env: { ROLLCALL_UI_ENABLED: 'perhaps', ROLLCALL_STORAGE_TYPE: 'cluster' } }),
  )
  t.equal(problems.length, 7)
  t.match(message, /has 7 problems:/)
  t.match(message, /log\.level: must be one of .* \(\d+\.yml line 2\)/)
  t.match(message, /server\.http_prt: is not a setting \(did you mean http_port\?\) \(\d+\.yml line 4\)/)
  t.match(message, /server\.body_limit: expected an integer .* line 5\)/)
  t.match(message, /ui\.enabled: expected true or false, got a string \(ROLLCALL_UI_ENABLED\)/)
  t.match(message, /eventstore\.url: is required/)
})

await t.test('a configuration file that cannot be parsed is reported with its line', async (t) => {
  t.match(failed(() => loadConfig({ file: join(folder, 'none.yml'), env: {} })).message, /cannot be read \(ENOENT\)/)
  t.match(
    failed(() => loadConfig({ file: write('a: 1\na: 2\n'), env: {} })).message,
    /a key is duplicated \(\d+\.yml line 2\)/,
  )
  t.match(
    failed(() => loadConfig({ file: write('log:\n\tlevel: INFO\n'), env: {} })).message,
    /is not valid YAML or JSON .*line 2/,
  )
  t.match(failed(() => loadConfig({ file: write('- a\n'), env: {} })).message, /expected a map/)
  t.match(
    failed(() => loadConfig({ file: write('? [a, b]\n: 1\n'), env: {} })).message,
    /is not a setting \(\d+\.yml\)/,
  )
  t.match(
    failed(() =>
      loadConfig({ file: write(`a: &a [x]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]`), env: {} }),
    ).message,
    /alias/,
  )
})

await t.test('no message about the configuration contains a secret', async (t) => {
  const secret = 'hunter2 with spaces'
  const broken = [
    () => fromEnv({ ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN: secret }),
    () => fromEnv({ [`${P}_A_CLIENT_SECRET`]: secret }),
    () => fromEnv({ ROLLCALL_REDIS_URL: `http://x:${secret}@y` }),
    () => fromEnv({ ROLLCALL_SERVER_PUBLIC_URL: `https://x:hunter2@y` }),
    () => loadConfig({ file: write(`authentication: {methods: {codehost: {client_secret: [${secret}]}}}`), env: {} }),
    () => loadConfig({ file: write(`authentication:\n  methods: {codehost: {client_secret: *hunter2}}`), env: {} }),
    () =>
      loadConfig({
        file: write(`authentication:\n  methods:\n    codehost:\n      client_secret: "hunter2\n  x: [`),
        env: {},
      }),
  ]
  for (const load of broken) t.notMatch(failed(load).message, /hunter2/)
})

await t.test('the public configuration contains no secrets and no URLs with credentials', async (t) => {
  const { config } = fromEnv({
    ROLLCALL_STORAGE_TYPE: 'cluster',
    ROLLCALL_EVENTSTORE_URL: 'esdb://admin:hunter2@e:2113',
    ROLLCALL_MONGODB_URL: 'mongodb://m:1/?tlsCertificateKeyFilePassword=hunter2',
    ROLLCALL_REDIS_URL: 'redis://r:6379',
    ROLLCALL_AUTHENTICATION_METHODS_TOKEN_BOOTSTRAP_TOKEN: 'hunter2hunter2hunter2',
    ROLLCALL_AUTHENTICATION_SESSION_CSRF_KEY: 'hunter2',
    [`${P}_G_ISSUER_URL`]: 'https://id.example.com',
    [`${P}_G_CLIENT_ID`]: 'me',
    [`${P}_G_CLIENT_SECRET`]: 'hunter2',
    [`${P}_G_REDIRECT_ADDRESS`]: 'https://me.example.com',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_CLIENT_SECRET: 'hunter2',
  })
  const shown = publicConfig(config)
  t.notMatch(JSON.stringify(shown), /hunter2|\*\*/)
  t.match(shown, {
    redis: { url: 'redis://r:6379' },
    eventstore: {},
    authentication: { session: { token_lifetime: '24h' } },
  })
  t.match(shown, { authentication: { methods: { oidc: { providers: { g: { client_id: 'me' } } } } } })
  const { url } = shown['eventstore'] as { url?: string }
  t.equal(url, undefined)
})

await t.test('the public configuration is a valid file with the same values', async (t) => {
  const teams = {
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_ALLOWED_ORGANIZATIONS: 'acme',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_ALLOWED_TEAMS: '{"acme":["core"]}',
    ROLLCALL_AUTHENTICATION_METHODS_CODEHOST_SCOPES: 'read:org',
  }
  for (const env of [{}, teams]) {
    const { config } = fromEnv(env)
    t.strictSame(loadConfig({ file: write(JSON.stringify(publicConfig(config)), 'json'), env: {} }).config, config)
  }
})

await t.test('the example configuration gives the defaults, also if no line is commented out', async (t) => {
  t.strictSame(loadConfig({ file: write(exampleFile()), env: {} }).config, fromEnv({}).config)
  const whole = exampleFile()
    .replace(/^( *)#([a-z])/gm, '$1$2')
    .replace('#redirect', 'redirect')
    .replace(/redirect_address:$/gm, 'redirect_address: https://a.b')
  const { config } = loadConfig({ file: write(whole), env: {} })
  t.match(config.authentication.methods.oidc.providers.get('example'), { client_id: 'rollcall' })
  t.match(config.server, fromEnv({}).config.server)
})

await t.test('the schema of the configuration contains every setting and allows no other', async (t) => {
  const schema = configSchema()
  t.equal(schema['additionalProperties'], false)
  type Inner = {
    readonly properties?: Readonly<Record<string, Inner>>
    readonly patternProperties?: Readonly<Record<string, Inner>>
    readonly description?: string
  }
  for (const [key, { sentence }] of leaves(settings)) {
    let at: Inner | undefined = schema
    for (const name of key.split('.'))
      at = name === '*' ? Object.values(at?.patternProperties ?? {})[0] : at?.properties?.[name]
    t.equal(at?.description, sentence, key)
  }
})

await t.test('an e-mail pattern must match the whole address, and is checked in linear time', async (t) => {
  const matches = emailMatcher(['.*@example\\.com', 'boss@other\\.org'])
  t.ok(matches('a@example.com'))
  t.ok(matches('boss@other.org'))
  for (const email of ['a@example.com.evil.org', 'a@exampleXcom', 'the-boss@other.org', 'a@example.com\n', ''])
    t.notOk(matches(email), email)
  t.ok(emailMatcher([])('anybody'))
  const hostile = emailMatcher(['(a+)+b'])
  const cost = (length: number) => {
    let matched = true
    const blocks = blocksRun(() => void (matched = hostile('a'.repeat(length))))
    t.equal(matched, false)
    return blocks
  }
  cost(1)
  const [once, twice] = [cost(2_500), cost(5_000)]
  t.ok(twice <= 2 * once, `${once} blocks, and ${twice} for twice the length`)
})

await t.test('any YAML parser can read the example configuration', async (t) => {
  t.type(parse(readFileSync(resolve(root, 'rollcall.example.yml'), 'utf8')), 'object')
})
