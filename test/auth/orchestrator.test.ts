import t, { type Test } from 'tap'
import { readFile, writeFile } from 'node:fs/promises'
import { SignJWT } from 'jose'
import { systemClock } from '../../src/clock.ts'
import { type Orchestrator, orchestrator, type OrchestratorSettings } from '../../src/auth/orchestrator.ts'
import { cluster as callTo } from '../../src/auth/cluster.ts'
import { refused } from './refused.ts'
import { clusterStandIn } from './stand-ins/cluster.ts'
import { type Answer, deadUrl, filler, json, silence, unusable } from './stand-ins/listen.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const DOCUMENT = '/.well-known/openid-configuration'
const KEYS = '/openid/v1/jwks'
const AUDIENCE = 'https://kubernetes.default.svc.cluster.local'
const WAYS = ['token_review', 'jwks'] as const
type Cluster = Awaited<ReturnType<typeof clusterStandIn>>

const open = (cluster: Cluster, more: Partial<OrchestratorSettings> = {}): Orchestrator => {
  const ready = orchestrator({
    clock: systemClock,
    verification: 'token_review',
    discoveryUrl: cluster.url,
    audiences: [],
    allowed: [],
    caPath: cluster.caPath,
    tokenPath: cluster.tokenPath,
    ...more,
  })
  return { verify: async (token, address) => (await ready).verify(token, address) }
}

const invalid = (t: Test, work: () => unknown, secrets: readonly string[] = []) =>
  refused(t, work, 'service_account_token_invalid', /^verifying service account: /, secrets)

const unavailable = async (t: Test, work: () => unknown, secrets: readonly string[] = []) => {
  const refusal = await refused(t, work, 'orchestrator_unavailable', 'service is temporarily unavailable', secrets)
  t.match(refusal.headers, { 'retry-after': /^\d+$/ })
}

const ofTheClock = AbortSignal.timeout.bind(AbortSignal)
const limited = (t: Test, by: number) =>
  t.intercept(AbortSignal, 'timeout', { value: (ms: number) => ofTheClock(ms * by) })
// The two seconds that a cluster has are for machines that do not stand still: only what tests them has no more.
limited(t, 15)

const now = () => Math.floor(Date.now() / 1000)
const claimObject = (more: object = {}) => ({
  'kubernetes.io': { namespace: 'apps', serviceaccount: { name: 'web', uid: 'uid-of-account' }, ...more },
})

const bundle = async (...paths: string[]) => (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('\n')

for (const verification of WAYS) {
  await t.test(`${verification}: a token of the cluster names its account and its own expiry exactly`, async (t) => {
    const cluster = await clusterStandIn(t)
    const exp = now() + 600
    const token = await cluster.token({ claims: { exp } })
    t.strictSame(await open(cluster, { verification }).verify(token, '::1'), {
      namespace: 'apps',
      name: 'web',
      uid: 'uid-of-account',
      podName: 'web-0',
      podUid: 'uid-of-pod',
      expiresAt: new Date(exp * 1000),
    })
    cluster.keys = [await cluster.newKey('rsa', 'RS256')]
    const bare = await cluster.token({
      claims: { exp: exp + 0.25, ...claimObject({ serviceaccount: { name: 'web' } }) },
    })
    t.strictSame(await open(cluster, { verification }).verify(bare, '::1'), {
      namespace: 'apps',
      name: 'web',
      expiresAt: new Date(exp * 1000 + 250),
    })
  })

  await t.test(`${verification}: a token that cannot be valid is refused without a call`, async (t) => {
    const cluster = await clusterStandIn(t)
    const { verify } = open(cluster, { verification })
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { sub: 'system:serviceaccount:apps:web', exp: now() + 60, ...claimObject() }
    const header = { alg: 'RS256', kid: 'k' }
    const rows: readonly [string, string | Promise<string>][] = [
      ['a word', 'canary'],
      ['three words', 'canary.canary.canary'],
      ['two parts', `${part(header)}.${part(claims)}`],
      ['four parts', `${part(header)}.${part(claims)}.AAAA.AAAA`],
      ['white space', `${part(header)}.${part(claims)}.AAAA\n`],
      ['a header that is no object', `${part('x')}.${part(claims)}.AAAA`],
      ['claims that are a list', `${part(header)}.${part([])}.AAAA`],
      ['alg none', `${part({ alg: 'none' })}.${part(claims)}.`],
      ['alg none with a signature', `${part({ alg: 'none' })}.${part(claims)}.AAAA`],
      ['HMAC', new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32))],
      ['16 KiB and one byte', `${part(header)}.${part(claims)}.`.padEnd(16_385, 'A')],
      ['expired', cluster.token({ claims: { exp: now() - 1 } })],
      ['expired this second', cluster.token({ claims: { exp: now() } })],
      ['no expiry', cluster.token({ claims: { exp: undefined } })],
      ['an expiry that is a text', `${part(header)}.${part({ ...claims, exp: String(claims.exp) })}.AAAA`],
      ['an expiry that is null', `${part(header)}.${part({ ...claims, exp: null })}.AAAA`],
      ['an expiry in the year 10000', cluster.token({ claims: { exp: 253_402_300_800 } })],
      [
        'an expiry beyond numbers',
        `${part(header)}.${part(claims).replace(/.*/, () => Buffer.from('{"exp":1e999}').toString('base64url'))}.AAAA`,
      ],
      ['no account', cluster.token({ claims: { sub: 'alice', 'kubernetes.io': undefined } })],
      [
        'an account without a namespace',
        cluster.token({ claims: { sub: 'system:serviceaccount:web', 'kubernetes.io': {} } }),
      ],
      ['two accounts', cluster.token({ claims: { sub: 'system:serviceaccount:apps:root' } })],
    ]
    for (const [name, token] of rows)
      await t.test(name, async (t) => void (await invalid(t, async () => verify(await token, '::1'))))
    t.strictSame(cluster.asked, [], 'nobody was asked')
    const last = await cluster.token({ claims: { exp: 253_402_300_799 } })
    t.equal((await verify(last, '::1')).expiresAt.toISOString(), '9999-12-31T23:59:59.000Z')
  })

  await t.test(`${verification}: a token that the cluster did not make for us is refused`, async (t) => {
    const cluster = await clusterStandIn(t)
    const stranger = await cluster.newKey(cluster.keys[0]!.jwk.kid)
    const { verify } = open(cluster, { verification, audiences: ['rollcall', 'other'] })
    const ours = { aud: ['rollcall'] }
    const rows: readonly [string, Parameters<Cluster['token']>[0]][] = [
      ['a foreign key', { claims: ours, key: stranger.privateKey }],
      ['an unknown key id', { claims: ours, header: { kid: 'unknown' }, key: stranger.privateKey }],
      [
        'a key by address',
        { claims: ours, header: { jku: 'https://evil.example.com/keys', kid: 'x' }, key: stranger.privateKey },
      ],
      ['a foreign issuer', { claims: { ...ours, iss: 'https://evil.example.com' } }],
      ['another audience', { claims: { aud: ['elsewhere'] } }],
      ['no audience', { claims: { aud: undefined } }],
      ['not valid yet', { claims: { ...ours, nbf: now() + 300 } }],
      ['a person', { claims: { ...ours, sub: 'alice', 'kubernetes.io': undefined } }],
    ]
    for (const [name, options] of rows)
      await t.test(name, async (t) => {
        const token = await cluster.token(options)
        await invalid(t, () => verify(token, '::1'), [token, token.split('.')[2]!])
      })
    t.equal((await verify(await cluster.token({ claims: ours }), '::1')).name, 'web')
    t.notOk(cluster.asked.some(({ path }) => path.includes('evil')))
  })

  await t.test(`${verification}: only allowed accounts come in, and the refusal names the others`, async (t) => {
    const cluster = await clusterStandIn(t)
    const token = await cluster.token()
    const rows: readonly [OrchestratorSettings['allowed'], boolean][] = [
      [[], true],
      [[{ namespace: 'apps', serviceAccounts: ['web'] }], true],
      [[{ namespace: '*', serviceAccounts: ['web'] }], true],
      [[{ namespace: 'apps', serviceAccounts: ['*'] }], true],
      [
        [
          { namespace: 'x', serviceAccounts: ['*'] },
          { namespace: 'apps', serviceAccounts: ['a', 'web'] },
        ],
        true,
      ],
      [[{ namespace: 'apps', serviceAccounts: ['api'] }], false],
      [[{ namespace: 'x', serviceAccounts: ['web'] }], false],
      [[{ namespace: 'apps', serviceAccounts: [] }], false],
      [[{ namespace: 'ap*', serviceAccounts: ['w*'] }], false],
    ]
    for (const [allowed, outcome] of rows) {
      const verify = () => open(cluster, { verification, allowed }).verify(token, '::1')
      if (outcome) t.equal((await verify()).name, 'web')
      else {
        const refusal = await refused(t, verify, 'service_account_not_allowed', 'permission denied')
        t.strictSame(refusal.metadata, { namespace: 'apps', name: 'web' })
      }
    }
    const foreign = await cluster.token({ key: (await cluster.newKey()).privateKey })
    const nobody = open(cluster, { verification, allowed: [{ namespace: 'x', serviceAccounts: ['y'] }] })
    await invalid(t, () => nobody.verify(foreign, '::1'))
  })

  await t.test(`${verification}: a cluster that cannot be asked is a 503`, async (t) => {
    const cluster = await clusterStandIn(t)
    const token = await cluster.token()
    const answers: Record<string, Answer> = {
      ...unusable,
      '401': json(401, { message: 'canary' }),
      '403': json(403, {}),
      '422': json(422, { message: token }),
    }
    for (const path of verification === 'jwks' ? [DOCUMENT, KEYS] : [REVIEWS])
      for (const [name, answer] of Object.entries(answers))
        await t.test(`${path}: ${name}`, async (t) => {
          cluster.lies = { [path]: answer }
          await unavailable(t, () => open(cluster, { verification }).verify(token, '::1'), [token])
        })
    t.notOk(
      cluster.asked.some(({ path }) => path === '/elsewhere'),
      'no redirect was followed',
    )
    cluster.lies = {}
    await t.test('nobody there', (t) =>
      unavailable(t, () => open(cluster, { verification, discoveryUrl: 'https://127.0.0.1:9' }).verify(token, '::1')),
    )
    await t.test('a certificate of another CA', async (t) => {
      const other = await clusterStandIn(t)
      await unavailable(t, () => open(cluster, { verification, caPath: other.caPath }).verify(token, '::1'))
    })
    await t.test('no CA file', (t) =>
      unavailable(t, () => open(cluster, { verification, caPath: '/nonexistent' }).verify(token, '::1')),
    )
    t.equal((await open(cluster, { verification }).verify(token, '::1')).name, 'web')
  })

  await t.test(`${verification}: a cluster slower than 2 s is a 503`, async (t) => {
    limited(t, 1)
    const cluster = await clusterStandIn(t)
    const token = await cluster.token()
    const { verify } = open(cluster, { verification })
    await verify(token, '::1')
    cluster.lies = { [DOCUMENT]: silence, [REVIEWS]: silence }
    const began = Date.now()
    const { verify: anew } = verification === 'jwks' ? open(cluster, { verification }) : { verify }
    await unavailable(t, () => anew(token, '::1'))
    const took = Date.now() - began
    t.ok(took > 1000 && took < 20_000, `took ${took} ms`)
  })
}

await t.test(
  'token_review: the question is the token, with audiences only when configured, under our own trimmed bearer',
  async (t) => {
    const cluster = await clusterStandIn(t)
    const token = await cluster.token()
    await open(cluster).verify(token, '::1')
    await open(cluster, { audiences: ['x', AUDIENCE] }).verify(token, '::1')
    t.strictSame(
      cluster.asked.map(({ path, authorization, body }) => ({ path, authorization, ...(JSON.parse(body) as object) })),
      [{ token }, { token, audiences: ['x', AUDIENCE] }].map((spec) => ({
        path: REVIEWS,
        authorization: 'Bearer canary-bearer-1',
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec,
      })),
    )
  },
)

await t.test('token_review: a rotated bearer counts at once; a missing or refused one is a 503', async (t) => {
  const cluster = await clusterStandIn(t)
  const { verify } = open(cluster)
  const token = await cluster.token()
  await verify(token, '::1')
  cluster.bearer = 'canary-bearer-2'
  await unavailable(t, () => verify(token, '::1'))
  await cluster.writeBearer('  canary-bearer-2\n\n')
  t.equal((await verify(token, '::1')).name, 'web')
  await writeFile(cluster.tokenPath, 'canary\nbearer')
  await unavailable(t, () => verify(token, '::1'))
  await unavailable(t, () => open(cluster, { tokenPath: '/nonexistent' }).verify(token, '::1'))
})

type Status = Record<string, unknown> & { user: Record<string, unknown> & { extra?: object } }
const extra = (name: string) => ({
  'authentication.kubernetes.io/pod-name': [name],
  'authentication.kubernetes.io/pod-uid': ['uid-of-pod'],
})
const STATUSES: readonly [string, (honest: Status) => unknown, 'invalid' | 'unavailable' | object][] = [
  ['authenticated is not true', (status) => ({ ...status, authenticated: 'true' }), 'invalid'],
  ['authenticated is false', (status) => ({ ...status, authenticated: false }), 'invalid'],
  ['an error only', () => ({ error: 'canary' }), 'invalid'],
  ['more than 1 MiB', (status) => ({ ...status, ...filler }), 'unavailable'],
  ['no status', () => undefined, 'unavailable'],
  ['no user', (status) => ({ ...status, user: undefined }), 'invalid'],
  ['a person', (status) => ({ ...status, user: { username: 'alice' } }), 'invalid'],
  [
    'a user name of five parts',
    (status) => ({ ...status, user: { username: 'system:serviceaccount:apps:web:x' } }),
    'invalid',
  ],
  [
    'another account',
    (status) => ({ ...status, user: { ...status.user, username: 'system:serviceaccount:apps:root' } }),
    'invalid',
  ],
  [
    'another namespace',
    (status) => ({ ...status, user: { ...status.user, username: 'system:serviceaccount:kube:web' } }),
    'invalid',
  ],
  ['another uid', (status) => ({ ...status, user: { ...status.user, uid: 'other' } }), 'invalid'],
  ['another pod', (status) => ({ ...status, user: { ...status.user, extra: extra('other') } }), 'invalid'],
  ['no audience in common', (status) => ({ ...status, audiences: ['other'] }), 'invalid'],
  ['no audiences', (status) => ({ ...status, audiences: undefined }), 'invalid'],
  ['audiences as a text', (status) => ({ ...status, audiences: AUDIENCE }), 'invalid'],
  [
    'no pod: that of the token counts',
    (status) => ({ ...status, user: { ...status.user, extra: undefined } }),
    { podName: 'web-0', podUid: 'uid-of-pod' },
  ],
  [
    'no uid: that of the token counts',
    (status) => ({ ...status, user: { ...status.user, uid: undefined } }),
    { uid: 'uid-of-account' },
  ],
]

await t.test(
  'token_review: a review is believed only when it says yes to the account that the token names',
  async (t) => {
    const cluster = await clusterStandIn(t)
    for (const [name, status, outcome] of STATUSES)
      await t.test(name, async (t) => {
        cluster.status = (honest) => status(honest as Status)
        const token = await cluster.token()
        const verify = () => open(cluster, { audiences: [AUDIENCE] }).verify(token, '::1')
        if (outcome === 'invalid') await invalid(t, verify)
        else if (outcome === 'unavailable') await unavailable(t, verify)
        else t.match(await verify(), outcome)
      })
  },
)

await t.test('token_review: revocation counts at once, and a no is remembered for ten seconds', async (t) => {
  const cluster = await clusterStandIn(t)
  let time = Date.now()
  const { verify } = open(cluster, { clock: { ...systemClock, now: () => new Date(time) } })
  const token = await cluster.token()
  await verify(token, '::1')
  cluster.gone.add('uid-of-pod')
  await invalid(t, () => verify(token, '::1'))
  t.equal(cluster.asked.length, 2)
  cluster.gone.clear()
  time += 10_000
  await invalid(t, () => verify(token, '::1'))
  t.equal(cluster.asked.length, 2, 'not asked again')
  time += 1
  t.equal((await verify(token, '::1')).name, 'web')
  cluster.lies = { [REVIEWS]: json(500, {}) }
  await unavailable(t, () => verify(token, '::1'))
  cluster.lies = {}
  t.equal((await verify(token, '::1')).name, 'web', 'a 503 is not remembered')
})

await t.test('token_review: ten calls at once, the others wait, and none longer than two seconds', async (t) => {
  limited(t, 1)
  const cluster = await clusterStandIn(t)
  const { verify } = open(cluster)
  const token = await cluster.token()
  await verify(token, '::1')
  const burst = await Promise.all(
    Array.from({ length: 60 }, () =>
      verify(token, '::1').then(
        () => 'verified',
        (error: { reason: string }) => error.reason,
      ),
    ),
  )
  t.ok(burst.includes('verified'))
  t.notOk(burst.includes('rate_limited'), 'a burst of one caller is not its fault')
  const before = cluster.asked.length
  cluster.lies = { [REVIEWS]: silence }
  const began = Date.now()
  const flood = Array.from({ length: 60 }, () =>
    verify(token, '::1').catch((error: { reason: string }) => error.reason),
  )
  const outcomes = await Promise.all(flood)
  const took = Date.now() - began
  t.strictSame(new Set(outcomes), new Set(['orchestrator_unavailable']))
  t.ok(took < 9000, `took ${took} ms`)
  t.ok(cluster.asked.length - before <= 20, 'those who waited too long were not asked about')
  cluster.lies = {}
  t.equal((await verify(token, '::1')).name, 'web')
})

await t.test('jwks: keys are held; an unknown key id has them read again, at most once in 30 s', async (t) => {
  const cluster = await clusterStandIn(t)
  let time = Date.now()
  const { verify } = open(cluster, { verification: 'jwks', clock: { ...systemClock, now: () => new Date(time) } })
  const enter = async () => verify(await cluster.token(), '::1')
  const reads = () => cluster.asked.filter(({ path }) => path === KEYS).length
  await Promise.all([enter(), enter()])
  t.equal(reads(), 1)
  cluster.keys = [await cluster.newKey()]
  await enter()
  t.equal(reads(), 2, 'a rotated key works at once')
  cluster.keys = [await cluster.newKey()]
  await invalid(t, enter)
  await invalid(t, enter)
  t.equal(reads(), 2)
  time += 30_000
  await enter()
  t.equal(reads(), 3)
  cluster.lies = { [DOCUMENT]: json(500, {}) }
  await enter()
  t.pass('held keys outlive the API server for a while')
})

await t.test('jwks: a token without a key id is tried against every key', async (t) => {
  const cluster = await clusterStandIn(t)
  cluster.keys.push(await cluster.newKey(), await cluster.newKey())
  const { verify } = open(cluster, { verification: 'jwks' })
  for (const { privateKey } of cluster.keys) {
    const token = await cluster.token({ header: { kid: undefined }, key: privateKey })
    t.equal((await verify(token, '::1')).name, 'web')
  }
  const foreign = await cluster.token({ header: { kid: undefined }, key: (await cluster.newKey()).privateKey })
  await invalid(t, () => verify(foreign, '::1'))
  const expired = await cluster.token({
    header: { kid: undefined },
    claims: { nbf: now() + 300 },
    key: cluster.keys[1]!.privateKey,
  })
  await invalid(t, () => verify(expired, '::1'))
})

await t.test(
  'jwks: our bearer is shown to the configured address when the file is there, and nowhere else',
  async (t) => {
    const [cluster, elsewhere] = await Promise.all([clusterStandIn(t), clusterStandIn(t)])
    const verify = async (more: Partial<OrchestratorSettings> = {}) =>
      open(cluster, { verification: 'jwks', ...more }).verify(await cluster.token(), '::1')
    await verify()
    t.ok(cluster.asked.every(({ authorization }) => authorization === 'Bearer canary-bearer-1'))
    cluster.asked.length = 0
    await verify({ tokenPath: '/nonexistent' })
    t.ok(cluster.asked.length === 2 && cluster.asked.every(({ authorization }) => authorization === undefined))

    elsewhere.keys = cluster.keys
    await writeFile(cluster.caPath, await bundle(cluster.caPath, elsewhere.caPath))
    cluster.lies = {
      [DOCUMENT]: json(200, { issuer: AUDIENCE, jwks_uri: `${elsewhere.url}${KEYS}` }),
      [KEYS]: json(404, {}),
    }
    t.equal((await verify()).name, 'web', 'a key set elsewhere is found')
    t.strictSame(
      elsewhere.asked.map(({ authorization }) => authorization),
      [undefined],
    )
  },
)

await t.test('jwks: key set and document are asked for by the media types that an API server gives', async (t) => {
  const cluster = await clusterStandIn(t)
  const asked = async (path: string, accept: string) => {
    const answer = await callTo({ clock: systemClock, ...cluster, discoveryUrl: cluster.url })({
      url: `${cluster.url}${path}`,
      method: 'GET',
      bearer: 'none',
      headers: { accept },
    })
    return answer.status
  }
  t.equal(await asked(KEYS, 'application/json'), 406, 'as an API server refuses it')
  t.equal(await asked(KEYS, 'application/json, application/jwk-set+json;q=0'), 406)
  t.equal(await asked(KEYS, '*/*'), 200)
  t.equal(await asked(DOCUMENT, 'application/jwk-set+json'), 406)
  t.equal((await open(cluster, { verification: 'jwks' }).verify(await cluster.token(), '::1')).name, 'web')
})

await t.test('jwks: where neither address gives a key set, both causes are told', async (t) => {
  const [cluster, dead] = [await clusterStandIn(t), (await deadUrl()).replace('http:', 'https:')]
  const token = await cluster.token()
  for (const [answer, said] of [
    [json(406, 'canary'), 'answered with status 406'],
    [json(403, {}), 'answered with status 403'],
    [json(200, { keys: 'canary' }), 'JWKSInvalid ERR_JWKS_INVALID'],
  ] as const) {
    cluster.lies = { [DOCUMENT]: json(200, { issuer: AUDIENCE, jwks_uri: `${dead}${KEYS}` }), [KEYS]: answer }
    const refusal = await refused(
      t,
      () => open(cluster, { verification: 'jwks' }).verify(token, '::1'),
      'orchestrator_unavailable',
    )
    t.equal(
      (refusal.cause as Error).message,
      `key set at the configured address: ${said}; at the address that the document names: Error ECONNREFUSED`,
    )
  }
})

await t.test('jwks: a document or key set that says nothing usable is a 503', async (t) => {
  const cluster = await clusterStandIn(t)
  const silent: Answer = (response) => void response.destroy()
  const token = await cluster.token()
  const rows: readonly [string, Record<string, Answer>][] = [
    ['no issuer', { [DOCUMENT]: json(200, { jwks_uri: KEYS }) }],
    ['no key set', { [DOCUMENT]: json(200, { issuer: AUDIENCE }) }],
    ['a key set without an address', { [DOCUMENT]: json(200, { issuer: AUDIENCE, jwks_uri: 'keys' }) }],
    ['a document that is no object', { [DOCUMENT]: json(200, null) }],
    [
      'a key set of the configured address that is not there',
      { [DOCUMENT]: json(200, { issuer: AUDIENCE, jwks_uri: `${cluster.url}${KEYS}` }), [KEYS]: silent },
    ],
    ['keys that are no list', { [KEYS]: json(200, { keys: 'canary' }) }],
    ['keys that are no objects', { [KEYS]: json(200, { keys: [1] }) }],
  ]
  for (const [name, lies] of rows)
    await t.test(name, async (t) => {
      cluster.lies = lies
      await unavailable(t, () => open(cluster, { verification: 'jwks' }).verify(token, '::1'))
    })
})

await t.test('jwks: a signed token must carry a claim object that names its own subject', async (t) => {
  const cluster = await clusterStandIn(t)
  const { verify } = open(cluster, { verification: 'jwks' })
  const web = { name: 'web', uid: 'uid-of-account' }
  const rows: readonly [string, Readonly<Record<string, unknown>>][] = [
    ['no claim object', { 'kubernetes.io': undefined }],
    ['null', { 'kubernetes.io': null }],
    ['a text', { 'kubernetes.io': 'apps' }],
    ['a list', { 'kubernetes.io': ['apps'] }],
    ['an empty object', { 'kubernetes.io': {} }],
    ['no namespace', { 'kubernetes.io': { serviceaccount: web } }],
    ['an empty namespace', { 'kubernetes.io': { namespace: '', serviceaccount: web } }],
    ['a namespace that is no text', { 'kubernetes.io': { namespace: 1, serviceaccount: web } }],
    ['no account', { 'kubernetes.io': { namespace: 'apps' } }],
    ['an account that is a text', { 'kubernetes.io': { namespace: 'apps', serviceaccount: 'web' } }],
    ['an account without a name', { 'kubernetes.io': { namespace: 'apps', serviceaccount: { uid: 'u' } } }],
    ['a name that is no text', { 'kubernetes.io': { namespace: 'apps', serviceaccount: { name: ['web'] } } }],
    ['no subject', { sub: undefined }],
    ['a subject of another kind', { sub: 'system:node:n' }],
    ['another account as subject', { sub: 'system:serviceaccount:apps:root' }],
    ['another namespace in the subject', { sub: 'system:serviceaccount:kube-system:web' }],
  ]
  for (const [name, claims] of rows)
    await t.test(name, async (t) => {
      const token = await cluster.token({ claims })
      await invalid(t, () => verify(token, '::1'))
    })
  const bare = await cluster.token({ claims: claimObject({ serviceaccount: { name: 'web' } }) })
  t.equal((await verify(bare, '::1')).name, 'web', 'the uid may be missing')
})
