import { generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import { freshSecrets } from '../../src/auth/identity.ts'
import { withUserinfo } from '../../src/auth/oidc/oidc.ts'
import { whyOf } from '../../src/base/errors.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { client, type Failure, fails, login } from './at-provider.ts'
import { type Lies, lyingProvider } from './stand-ins/liar.ts'
import { type Answer, filler, json, reasonOfUnusable, silence, unusable } from './stand-ins/listen.ts'

const asked = { claims: 'userinfo' } as const
const jwt =
  (text: string): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/jwt; charset=utf-8' }).end(text)
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

await t.test('userinfo is read only if configured, and its claims then replace those of the ID token', async (t) => {
  const liar = await lyingProvider(t)
  const person = { name: 'Ada', groups: ['staff'], email: 'ada@example.com', email_verified: true }
  liar.lies = {
    claims: { name: 'A.', dept: 'x', sid: 's' },
    userinfo: { ...person, sid: 'other', iss: 'https://evil.example' },
  }
  const plain = client(liar.url)
  t.strictSame((await plain.finish(await login(plain))).attributes['name'], 'A.')
  t.notOk(liar.asked.includes('/userinfo'))

  const provider = client(liar.url, asked)
  const { attributes, ...identity } = await provider.finish(await login(provider))
  t.match(identity, { subject: { issuer: liar.url, sub: 'alice' }, email: 'ada@example.com', emailVerified: true })
  t.match(attributes, { 'oidc.name': 'Ada', 'oidc.email_verified': 'true' })
  const { iat: _, exp: __, ...claims } = JSON.parse(attributes['claims']!) as Record<string, unknown>
  t.strictSame(claims, { iss: liar.url, aud: 'rollcall', sub: 'alice', dept: 'x', ...person, sid: 's' })
  t.equal(liar.asked.filter((path) => path === '/userinfo').length, 1)
})

type Told = Readonly<Record<string, unknown>>
const JOINED: readonly [string, Told, Told, Told][] = [
  ['claims in one source only', { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
  ['claims in both sources', { name: 'old', groups: ['x'] }, { name: 'new', groups: [] }, { name: 'new', groups: [] }],
  [
    'claims about the login',
    { iss: 'i', sub: 's', exp: 1, acr: '1' },
    { iss: 'j', sub: 's', exp: 2, acr: '2', amr: ['pwd'] },
    { iss: 'i', sub: 's', exp: 1, acr: '1' },
  ],
  ['another address without email_verified', { email: 'a', email_verified: true }, { email: 'b' }, { email: 'b' }],
  [
    'another address that is not verified',
    { email: 'a', email_verified: true },
    { email: 'b', email_verified: false },
    { email: 'b', email_verified: false },
  ],
  ['a verified nothing', { email: 'a' }, { email_verified: true }, { email_verified: true }],
  ['no address', { email: 'a', email_verified: true }, { name: 'n' }, { email: 'a', email_verified: true, name: 'n' }],
  [
    'a referenced claim',
    { _claim_names: { groups: 's', more: 's' } },
    { groups: ['x'] },
    { _claim_names: { more: 's' }, groups: ['x'] },
  ],
  [
    'references of its own',
    { _claim_names: { groups: 's' } },
    { _claim_names: { more: 't' } },
    { _claim_names: { more: 't' } },
  ],
  [
    'a name of a JavaScript object member',
    JSON.parse('{"__proto__":1}') as Told,
    { constructor: 'x' },
    JSON.parse('{"__proto__":1,"constructor":"x"}') as Told,
  ],
]
await t.test('claims of ID token and userinfo are merged, each e-mail address with its own verification', (t) => {
  for (const [name, idToken, userinfo, joined] of JOINED)
    t.strictSame(JSON.parse(JSON.stringify(withUserinfo(idToken, userinfo))), JSON.parse(JSON.stringify(joined)), name)
  t.end()
})

const OF_OTHER = 'the userinfo answer is invalid: it is about another person than the ID token (sub)'
type Row = readonly [string, Lies['userinfo'], Failure, string | RegExp]
const ROWS: readonly Row[] = [
  ['another subject', { sub: 'mallory' }, 'userinfo_invalid', OF_OTHER],
  ['of nobody', { sub: undefined }, 'userinfo_invalid', /OAUTH_INVALID_RESPONSE/],
  ['a subject that is a number', { sub: 7 }, 'userinfo_invalid', /OAUTH_INVALID_RESPONSE/],
  ['the subject in other case', { sub: 'Alice' }, 'userinfo_invalid', OF_OTHER],
  [
    '401',
    json(401, { error: 'invalid_token' }, { 'www-authenticate': 'Bearer error="invalid_token"' }),
    'userinfo_invalid',
    /: userinfo at 127\S* refused the access token with status 401$/,
  ],
  ['403', json(403, {}), 'userinfo_invalid', /: userinfo at 127\S* refused the access token with status 403$/],
  ['more than 1 MiB', filler, 'identity_too_large', /: userinfo at 127\S* answered with more than 1 MiB$/],
  ['a list as JWT', jwt('[]'), 'userinfo_invalid', /OAUTH_INVALID_RESPONSE/],
  [
    'an encrypted one',
    jwt('canary.canary.canary.canary.canary'),
    'userinfo_invalid',
    'the userinfo answer is invalid: it is encrypted',
  ],
  [
    'a signed one without a signature',
    jwt(`${part({ alg: 'none' })}.${part({ sub: 'alice' })}.`),
    'userinfo_invalid',
    /OAUTH_INVALID_RESPONSE/,
  ],
  ['null', json(200, null), 'provider_unavailable', /^userinfo at 127\S*: answer is not a JSON object$/],
  ...Object.entries(unusable).map(([name, answer]): Row => [name, answer, reasonOfUnusable(name), /./]),
]

await t.test('each failure of userinfo is refused with its own reason and logged with its cause', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url, asked)
  for (const [name, userinfo, reason, why] of ROWS)
    await t.test(name, async (t) => {
      liar.lies = { userinfo: userinfo! }
      const answer = await login(provider)
      const refusal = await fails(t, () => provider.finish(answer), reason, [answer.query.get('code')!, 'alice'])
      if (typeof why === 'string') t.equal(whyOf(refusal), why)
      else t.match(whyOf(refusal), why)
    })
  t.notOk(liar.asked.includes('/elsewhere'), 'no redirect is followed')
})

await t.test('signed userinfo is accepted only with a valid signature of the provider', async (t) => {
  const liar = await lyingProvider(t)
  const stranger = await generateKeyPair('ES256')
  const now = () => Math.floor(Date.now() / 1000)
  const claims = { sub: 'alice', name: 'Ada' }
  const rows: readonly [string, () => Promise<string>, 'taken' | RegExp][] = [
    ['signed by its key', () => liar.signed(claims), 'taken'],
    [
      'valid issuer and audience',
      () => liar.signed({ ...claims, iss: liar.url, aud: 'rollcall', exp: now() + 60 }),
      'taken',
    ],
    ['by a new key', async () => (await liar.rotate(), liar.signed(claims)), 'taken'],
    ['another audience', () => liar.signed({ ...claims, aud: 'other' }), /OAUTH_JWT_CLAIM_COMPARISON_FAILED/],
    [
      'another issuer',
      () => liar.signed({ ...claims, iss: 'https://evil.example' }),
      /OAUTH_JWT_CLAIM_COMPARISON_FAILED/,
    ],
    ['expired', () => liar.signed({ ...claims, exp: now() - 60 }), /OAUTH_JWT_TIMESTAMP_CHECK_FAILED/],
    ['of another person', () => liar.signed({ sub: 'mallory' }), /it is about another person than the ID token/],
    [
      'by a foreign key',
      () => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'foreign' }).sign(stranger.privateKey),
      /OAUTH/,
    ],
    [
      'by a secret',
      () => new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from('canary'.repeat(8))),
      /OAUTH_INVALID_RESPONSE/,
    ],
    [
      'with an extension that must be known',
      () => liar.signed(claims, { crit: ['x'], x: 1 }),
      /OAUTH_UNSUPPORTED_OPERATION/,
    ],
  ]
  for (const [name, made, outcome] of rows)
    await t.test(name, async (t) => {
      // A provider whose keys were not just read again.
      const provider = client(liar.url, asked)
      liar.lies = {}
      const answer = await login(provider)
      const text =
        name === 'with an extension that must be known'
          ? `${part({ alg: 'ES256', crit: ['x'], x: 1 })}.${part(claims)}.AAAA`
          : await made()
      liar.lies = { userinfo: jwt(text) }
      if (outcome === 'taken') return void t.equal((await provider.finish(answer)).attributes['name'], 'Ada')
      t.match(whyOf(await fails(t, () => provider.finish(answer), 'userinfo_invalid')), outcome)
    })
})

await t.test('a provider without a userinfo endpoint is refused before the redirect', async (t) => {
  const liar = await lyingProvider(t)
  for (const userinfo_endpoint of [undefined, 7, 'javascript:alert(1)', 'ftp://id.example.com/userinfo']) {
    liar.lies = { document: { userinfo_endpoint } }
    const refusal = await fails(t, () => client(liar.url, asked).begin(freshSecrets()), 'provider_mismatch')
    t.match(whyOf(refusal), 'the discovery document has no usable userinfo_endpoint')
    t.ok(await client(liar.url).begin(freshSecrets()), 'where it is not asked it need not be there')
  }
})

await t.test('a login gets 503 if userinfo takes more than 5 s', async (t) => {
  const liar = await lyingProvider(t)
  const clock = virtualClock(new Date().toISOString())
  const provider = client(liar.url, { ...asked, clock })
  const answer = await login(provider)
  liar.lies = { userinfo: silence }
  const failing = fails(t, () => provider.finish(answer), 'provider_unavailable')
  const over = noted(failing)
  await eventually(() => liar.asked.includes('/userinfo'), 'the call')
  await clock.advance(4_999)
  t.strictSame(over, [])
  await clock.advance(1)
  await failing
})

await t.test('a login succeeds after the provider moved its userinfo endpoint', async (t) => {
  const [liar, other] = [await lyingProvider(t), await lyingProvider(t)]
  const provider = client(liar.url, asked)
  const answer = await login(provider)
  other.lies = { userinfo: { name: 'Ada' } }
  liar.lies = { userinfo: unusable['404']!, document: { userinfo_endpoint: `${other.url}/userinfo` } }
  t.equal((await provider.finish(answer)).attributes['name'], 'Ada')
})
