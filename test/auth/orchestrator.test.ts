import { readFile, writeFile } from 'node:fs/promises'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { cluster as callTo } from '../../src/auth/service-accounts/cluster.ts'
import type { OrchestratorSettings } from '../../src/auth/service-accounts/orchestrator.ts'
import { noted } from '../noted.ts'
import { eventually } from '../wait.ts'
import { directly } from './directly.ts'
import { begin, type Cluster, open } from './on-cluster.ts'
import { refused } from './refused.ts'
import { type Answer, deadUrl, filler, json, silence, unusable } from './stand-ins/listen.ts'

const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const DOCUMENT = '/.well-known/openid-configuration'
const KEYS = '/openid/v1/jwks'
const AUDIENCE = 'https://kubernetes.default.svc.cluster.local'
const WAYS = ['token_review', 'jwks'] as const

const jtiOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string }).jti

const invalid = (t: Test, work: () => unknown, secrets: readonly string[] = []) =>
  refused(t, work, 'service_account_token_invalid', /^verifying service account: /, secrets)

const unavailable = async (t: Test, work: () => unknown, secrets: readonly string[] = []) => {
  const refusal = await refused(t, work, 'orchestrator_unavailable', 'service is temporarily unavailable', secrets)
  t.match(refusal.headers, { 'retry-after': /^\d+$/ })
}

const claimObject = (more: object = {}) => ({
  'kubernetes.io': { namespace: 'apps', serviceaccount: { name: 'web', uid: 'uid-of-account' }, ...more },
})

const bundle = async (...paths: string[]) => (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('\n')

for (const verification of WAYS) {
  await t.test(`${verification}: a valid token gives its service account and expiry`, async (t) => {
    const cluster = await begin(t)
    const exp = cluster.seconds() + 600
    const token = await cluster.token({ claims: { exp } })
    t.strictSame(await open(cluster, { verification }).verify(token, '::1'), {
      namespace: 'apps',
      name: 'web',
      uid: 'uid-of-account',
      podName: 'web-0',
      podUid: 'uid-of-pod',
      credentialId: `JTI=${jtiOf(token)}`,
      expiresAt: new Date(exp * 1000),
    })
    cluster.keys = [await cluster.newKey('rsa', 'RS256')]
    const bare = await cluster.token({
      claims: { exp: exp + 0.25, ...claimObject({ serviceaccount: { name: 'web' } }) },
    })
    t.strictSame(await open(cluster, { verification }).verify(bare, '::1'), {
      namespace: 'apps',
      name: 'web',
      credentialId: `JTI=${jtiOf(bare)}`,
      expiresAt: new Date(exp * 1000 + 250),
    })
  })

  await t.test(`${verification}: a token is accepted with every signature of an ID token`, async (t) => {
    const cluster = await begin(t)
    for (const alg of 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')) {
      cluster.keys = [await cluster.newKey(alg, alg)]
      const token = await cluster.token()
      t.match(await open(cluster, { verification }).verify(token, '::1'), { name: 'web' }, alg)
    }
  })

  await t.test(`${verification}: a malformed or expired token is refused without a call to the cluster`, async (t) => {
    const cluster = await begin(t)
    const { verify } = open(cluster, { verification })
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { sub: 'system:serviceaccount:apps:web', exp: cluster.seconds() + 60, ...claimObject() }
    const header = { alg: 'RS256', kid: 'k' }
    const rows: readonly [string, string | Promise<string>][] = [
      ['a word', 'canary'],
      ['three words', 'canary.canary.canary'],
      ['two parts', `${part(header)}.${part(claims)}`],
      ['four parts', `${part(header)}.${part(claims)}.AAAA.AAAA`],
      ['white space', `${part(header)}.${part(claims)}.AA\nAA`],
      ['a header that is no object', `${part('x')}.${part(claims)}.AAAA`],
      ['claims that are a list', `${part(header)}.${part([])}.AAAA`],
      ['alg none', `${part({ alg: 'none' })}.${part(claims)}.`],
      ['alg none with a signature', `${part({ alg: 'none' })}.${part(claims)}.AAAA`],
      ['HMAC', new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new Uint8Array(32))],
      ['16 KiB and one byte', `${part(header)}.${part(claims)}.`.padEnd(16_385, 'A')],
      ['expired', cluster.token({ claims: { exp: cluster.seconds() - 1 } })],
      ['expired this second', cluster.token({ claims: { exp: cluster.seconds() } })],
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

  await t.test(`${verification}: a token that the cluster issued for another service is refused`, async (t) => {
    const cluster = await begin(t)
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
      ['not valid yet', { claims: { ...ours, nbf: cluster.seconds() + 300 } }],
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

  await t.test(`${verification}: an account that is not allowed is refused by name`, async (t) => {
    const cluster = await begin(t)
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

  await t.test(`${verification}: an exchange gets 503 if the cluster is unavailable`, async (t) => {
    const cluster = await begin(t)
    const token = await cluster.token()
    const answers: Record<string, Answer> = {
      ...unusable,
      '401': json(401, { message: 'canary' }),
      '403': json(403, {}),
      '422': json(422, { message: token }),
    }
    for (const path of verification === 'jwks' ? [DOCUMENT, KEYS] : [REVIEWS])
      for (const [name, answer] of Object.entries(answers))
        await t.test(`an exchange handles this answer of ${path}: ${name}`, async (t) => {
          cluster.lies = { [path]: answer }
          await unavailable(t, () => open(cluster, { verification }).verify(token, '::1'), [token])
        })
    t.notOk(
      cluster.asked.some(({ path }) => path === '/elsewhere'),
      'no redirect was followed',
    )
    cluster.lies = {}
    await t.test('an exchange gets 503 if the cluster refuses the connection', (t) =>
      unavailable(t, () => open(cluster, { verification, discoveryUrl: 'https://127.0.0.1:9' }).verify(token, '::1')),
    )
    await t.test('an exchange gets 503 if an unknown authority issued the certificate of the cluster', async (t) => {
      const other = await begin(t)
      await unavailable(t, () => open(cluster, { verification, caPath: other.caPath }).verify(token, '::1'))
    })
    await t.test('an exchange gets 503 if the CA file is missing', (t) =>
      unavailable(t, () => open(cluster, { verification, caPath: '/nonexistent' }).verify(token, '::1')),
    )
    t.equal((await open(cluster, { verification }).verify(token, '::1')).name, 'web')
  })

  await t.test(`${verification}: an exchange gets 503 if the cluster takes more than 2 s`, async (t) => {
    const cluster = await begin(t)
    const { asked, clock } = cluster
    const token = await cluster.token()
    await open(cluster, { verification }).verify(token, '::1')
    cluster.lies = { [DOCUMENT]: silence, [REVIEWS]: silence }
    const before = asked.length
    const refusing = unavailable(t, () => open(cluster, { verification }).verify(token, '::1'))
    const over = noted(refusing)
    await eventually(() => asked.length > before, 'the call')
    await clock.advance(1_999)
    t.strictSame(over, [])
    await clock.advance(1)
    await refusing
  })
}

await t.test('token_review: the request has the token, the configured audiences and the bearer token', async (t) => {
  const cluster = await begin(t)
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
})

await t.test('token_review: the bearer token is read for each call, and 503 is returned without one', async (t) => {
  const cluster = await begin(t)
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
  ['an error only', () => ({ error: 'canary-1 eyJcanary.x.y' }), 'invalid'],
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

await t.test('token_review: an answer of the cluster must name the same account as the token', async (t) => {
  const cluster = await begin(t)
  for (const [name, status, outcome] of STATUSES)
    await t.test(name, async (t) => {
      cluster.status = (honest) => status(honest as Status)
      const token = await cluster.token()
      const verify = () => open(cluster, { audiences: [AUDIENCE] }).verify(token, '::1')
      if (outcome === 'invalid') await invalid(t, verify)
      else if (outcome === 'unavailable') await unavailable(t, verify)
      else t.match(await verify(), outcome)
    })
})

await t.test('token_review: a refusal has the reason of the cluster as its cause', async (t) => {
  const cluster = await begin(t)
  const token = await cluster.token()
  const causeOf = async (verify: (token: string, address: string) => Promise<unknown>) =>
    ((await invalid(t, () => verify(token, '::1'), [token])).cause as Error).message
  const said = (error?: string) => {
    cluster.status = () => ({ authenticated: false, ...(error !== undefined && { error }) })
    return open(cluster, { audiences: [AUDIENCE] }).verify
  }
  const verify = said(`[invalid bearer token, service account token ${token} has expired]`)
  t.match(
    await causeOf(verify),
    /the cluster refused .*: \[invalid bearer token, service account token … has expired\]$/,
  )
  t.match(await causeOf(verify), /less than 10 s ago/)
  t.match(await causeOf(said()), /without a reason$/)
  cluster.status = (honest) => ({ ...(honest as Status), audiences: ['other'] })
  t.match(await causeOf(open(cluster, { audiences: [AUDIENCE] }).verify), 'token is not meant for this service')
})

await t.test('token_review: a revocation takes effect at once, and a refusal is cached for 10 s', async (t) => {
  const cluster = await begin(t)
  const { verify } = open(cluster)
  const token = await cluster.token()
  await verify(token, '::1')
  cluster.gone.add('uid-of-pod')
  await invalid(t, () => verify(token, '::1'))
  t.equal(cluster.asked.length, 2)
  cluster.gone.clear()
  await cluster.clock.advance(10_000)
  await invalid(t, () => verify(token, '::1'))
  t.equal(cluster.asked.length, 2, 'not asked again')
  await cluster.clock.advance(1)
  t.equal((await verify(token, '::1')).name, 'web')
  cluster.lies = { [REVIEWS]: json(500, {}) }
  await unavailable(t, () => verify(token, '::1'))
  cluster.lies = {}
  t.equal((await verify(token, '::1')).name, 'web', 'a 503 is not remembered')
})

/** Outcome of an exchange as one word. */
const wordOf = (verifying: Promise<unknown>) =>
  verifying.then(
    () => 'verified',
    (error: { readonly reason: string }) => error.reason,
  )

await t.test('token_review: at most 10 calls run at once, and a call whose wait ended never starts', async (t) => {
  const cluster = await begin(t)
  const stops: AbortController[] = []
  const limits = new Set<number>()
  const timeout = (ms: number) => {
    const stop = new AbortController()
    stops.push(stop)
    limits.add(ms)
    return stop.signal
  }
  const { verify } = open(cluster, { clock: { ...cluster.clock, timeout } })
  const token = await cluster.token()
  const sixty = () => Array.from({ length: 60 }, () => wordOf(verify(token, '::1')))
  t.strictSame(new Set(await Promise.all(sixty())), new Set(['verified']), 'a burst of one caller is not its fault')
  const before = cluster.asked.length
  cluster.lies = { [REVIEWS]: silence }
  const flood = sixty()
  await eventually(() => cluster.asked.length - before === 10, 'ten calls')
  // All timeouts expire in the same turn of the event loop, as with a shared timer.
  for (const stop of stops) stop.abort(new DOMException('over', 'TimeoutError'))
  t.strictSame(new Set(await Promise.all(flood)), new Set(['orchestrator_unavailable']))
  t.strictSame(
    [...limits].toSorted((a, b) => a - b),
    [2_000, 5_000],
  )
  cluster.lies = {}
  t.equal((await verify(token, '::1')).name, 'web')
  t.equal(cluster.asked.length - before, 11, 'ten calls, and the last one')
})

await t.test('token_review: the wait in the queue is limited to 5 s, and the call to 2 s', async (t) => {
  const cluster = await begin(t)
  const { asked, clock } = cluster
  const { verify } = open(cluster)
  const token = await cluster.token()
  cluster.lies = { [REVIEWS]: silence }
  const some = (count: number) => Array.from({ length: count }, () => wordOf(verify(token, '::1')))
  const first = some(10)
  await eventually(() => asked.length === 10, 'ten calls')
  await clock.advance(1_000)
  const next = some(10)
  await clock.advance(1_000)
  t.strictSame(new Set(await Promise.all(first)), new Set(['orchestrator_unavailable']))
  await eventually(() => asked.length === 20, 'the calls in the places that were left')
  const over = noted(Promise.all(next))
  const last = wordOf(verify(token, '::1'))
  await clock.advance(1_999)
  t.strictSame(over, [], 'to wait was no silence of the cluster')
  await clock.advance(1)
  t.strictSame(new Set(await Promise.all(next)), new Set(['orchestrator_unavailable']))
  await eventually(() => asked.length === 21, 'the last call')
  cluster.lies = {}
  t.equal((await verify(token, '::1')).name, 'web')
  await clock.advance(2_000)
  t.equal(await last, 'orchestrator_unavailable')

  cluster.lies = { [REVIEWS]: silence }
  const before = asked.length
  // Ten calls whose timeout never expires occupy all slots.
  const held = open(cluster, {
    clock: { ...clock, timeout: (ms) => (ms === 2_000 ? new AbortController().signal : clock.timeout(ms)) },
  })
  void Array.from({ length: 10 }, () => held.verify(token, '::1').catch(() => undefined))
  await eventually(() => asked.length === before + 10, 'ten calls')
  const waiting = wordOf(held.verify(token, '::1'))
  const given = noted(waiting)
  await clock.advance(4_999)
  t.strictSame(given, [])
  await clock.advance(1)
  t.equal(await waiting, 'orchestrator_unavailable')
})

await t.test(
  'jwks: keys are cached, and an unknown key id makes the client read them at most every 30 s',
  async (t) => {
    const cluster = await begin(t)
    const { verify } = open(cluster, { verification: 'jwks' })
    const enter = async () => verify(await cluster.token(), '::1')
    const reads = () => cluster.asked.filter(({ path }) => path === KEYS).length
    await Promise.all([enter(), enter()])
    t.equal(reads(), 1)
    cluster.keys = [await cluster.newKey()]
    await enter()
    t.equal(reads(), 2, 'a rotated key works at once')
    cluster.keys = [await cluster.newKey()]
    await invalid(t, enter)
    await cluster.clock.advance(29_999)
    await invalid(t, enter)
    t.equal(reads(), 2)
    await cluster.clock.advance(1)
    await enter()
    t.equal(reads(), 3)
    cluster.lies = { [DOCUMENT]: json(500, {}) }
    await cluster.clock.advance(600_000)
    await enter()
    t.equal(reads(), 3, 'held keys outlive the API server for ten minutes')
    await cluster.clock.advance(1)
    await unavailable(t, enter)
    cluster.lies = {}
    await enter()
    t.equal(reads(), 4)
  },
)

await t.test('jwks: the clocks of cluster and service may differ by 30 s', async (t) => {
  const cluster = await begin(t)
  const { verify } = open(cluster, { verification: 'jwks' })
  const later = (seconds: number) => cluster.token({ claims: { nbf: cluster.seconds() + seconds } })
  t.equal((await verify(await later(30), '::1')).name, 'web')
  const tooLate = await later(31)
  await invalid(t, () => verify(tooLate, '::1'))
})

await t.test('jwks: for a token without a key id every key is tried', async (t) => {
  const cluster = await begin(t)
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
    claims: { nbf: cluster.seconds() + 300 },
    key: cluster.keys[1]!.privateKey,
  })
  await invalid(t, () => verify(expired, '::1'))
})

await t.test('jwks: the bearer token is sent to the configured address only, if its file exists', async (t) => {
  const [cluster, elsewhere] = await Promise.all([begin(t), begin(t)])
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
})

await t.test('jwks: discovery document and keys are requested with the media types of an API server', async (t) => {
  const cluster = await begin(t)
  const asked = async (path: string, accept: string) => {
    const answer = await callTo({ ...directly, ...cluster, discoveryUrl: cluster.url, userAgent: 'rollcall/1.2.3' })({
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

await t.test('jwks: if neither address returns keys, the error names both causes', async (t) => {
  const [cluster, dead] = [await begin(t), (await deadUrl()).replace('http:', 'https:')]
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
      `no keys at the configured address: ${said}; no keys at the address in the discovery document: Error ECONNREFUSED`,
    )
  }
})

await t.test('jwks: a document or key set that cannot be used gives 503', async (t) => {
  const cluster = await begin(t)
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

await t.test('jwks: the token must have a complete kubernetes.io claim and no other subject', async (t) => {
  const cluster = await begin(t)
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
    ['neither a subject nor an account', { sub: undefined, 'kubernetes.io': { namespace: 'apps' } }],
    ['neither a subject nor a claim object', { sub: undefined, 'kubernetes.io': undefined }],
    ['null as subject', { sub: null }],
    ['an empty subject', { sub: '' }],
    ['a subject that is a list', { sub: ['system:serviceaccount:apps:web'] }],
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
  const { namespace, name } = await verify(await cluster.token({ claims: { sub: undefined } }), '::1')
  t.strictSame([namespace, name], ['apps', 'web'], 'the subject may be missing')
})
