import { type CryptoKey, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import { freshSecrets } from '../../src/auth/identity.ts'
import { type Reason, whyOf } from '../../src/base/errors.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { back, client, type Failure, fails, login, MESSAGES, patient, together } from './at-provider.ts'
import { refused } from './refused.ts'
import { type Lies, lyingClient, lyingProvider } from './stand-ins/liar.ts'
import { deadUrl, filler, json, reasonOfUnusable, silence, unusable } from './stand-ins/listen.ts'
import { realProvider, signIn } from './stand-ins/provider.ts'

await t.test('people of two providers can log in at the same time', async (t) => {
  const users = {
    alice: {
      email: 'alice@example.com',
      email_verified: true,
      name: 'Alice',
      picture: 'https://example.com/a.png',
      profile: 'https://example.com/alice',
      preferred_username: 'al',
    },
    bob: { email: 'bob@example.com', email_verified: false },
    carol: {},
  }
  const paths = ['one', 'two'].map((name) => `/auth/v1/method/oidc/${name}/callback`)
  const [one, two] = await Promise.all(
    paths.map(async (callbackPath, n) => {
      const name = ['one', 'two'][n]!
      const redirectUri = `https://flags.example.com${callbackPath}`
      const { url } = await realProvider(t, { ...lyingClient, redirectUris: [redirectUri], users })
      const settings = {
        name,
        issuerUrl: url,
        callbackPath,
        redirectAddress: 'https://flags.example.com',
        scopes: ['email', 'profile'],
      }
      return { url, redirectUri, provider: client(url, settings) }
    }),
  )
  if (!one || !two) throw new Error('unreachable')

  const secrets = freshSecrets()
  const address = await one.provider.begin(secrets)
  t.match(Object.fromEntries(address.searchParams), {
    response_type: 'code',
    scope: 'openid email profile',
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge_method: 'S256',
    redirect_uri: one.redirectUri,
    client_id: 'rollcall',
  })
  t.notOk(address.href.includes(secrets.codeVerifier))
  const { searchParams: query } = await signIn(address, 'alice', one.redirectUri)
  t.equal(query.get('iss'), one.url, 'the provider names itself')
  const alice = await one.provider.finish({ ...secrets, query })
  const { claims, ...attributes } = alice.attributes
  t.strictSame(attributes, {
    'oidc.provider': 'one',
    'oidc.email': 'alice@example.com',
    'oidc.email_verified': 'true',
    'oidc.name': 'Alice',
    'oidc.profile': 'https://example.com/alice',
    'oidc.picture': 'https://example.com/a.png',
    'oidc.sub': 'alice',
    'oidc.preferred_username': 'al',
    email: 'alice@example.com',
    name: 'Alice',
    picture: 'https://example.com/a.png',
  })
  t.match(JSON.parse(claims!), { iss: one.url, aud: 'rollcall', sub: 'alice', email: 'alice@example.com' })
  t.notOk(claims!.includes(secrets.nonce), 'claims are kept without the nonce')
  t.strictSame(alice.subject, { issuer: one.url, sub: 'alice' })
  t.match(alice, { email: 'alice@example.com', emailVerified: true })

  await fails(t, () => one.provider.finish({ ...secrets, query }), 'code_refused', [query.get('code')!])

  const others = freshSecrets()
  const back = await signIn(await two.provider.begin(others), 'bob', two.redirectUri)
  await fails(t, () => one.provider.finish({ ...others, query: back.searchParams }), 'issuer_mismatch')
  const bob = await two.provider.finish({ ...others, query: back.searchParams })
  t.match(bob, {
    subject: { issuer: two.url, sub: 'bob' },
    emailVerified: false,
    attributes: { 'oidc.email_verified': 'false' },
  })

  const third = freshSecrets()
  const carol = await two.provider.finish({
    ...third,
    query: (await signIn(await two.provider.begin(third), 'carol', two.redirectUri)).searchParams,
  })
  t.strictSame(
    Object.keys(carol.attributes).sort(),
    ['claims', 'oidc.provider', 'oidc.sub'],
    'missing claims give no key',
  )
  t.notOk('email' in carol || 'emailVerified' in carol)

  const wrong = freshSecrets()
  const stolen = (await signIn(await one.provider.begin(wrong), 'alice', one.redirectUri)).searchParams
  await fails(
    t,
    () => one.provider.finish({ ...wrong, codeVerifier: freshSecrets().codeVerifier, query: stolen }),
    'code_refused',
  )
})

await t.test('each secret of a login has 256 random bits and is never used again', async (t) => {
  const all = Array.from({ length: 20 }, () => Object.values(freshSecrets())).flat()
  t.equal(new Set(all).size, 60)
  for (const secret of all) t.equal(Buffer.from(secret, 'base64url').length, 32)
})

await t.test('the redirect address is built from the configuration, with the path of the base address', async (t) => {
  const liar = await lyingProvider(t)
  const address = await client(liar.url).begin(freshSecrets())
  t.equal(address.searchParams.get('redirect_uri'), back)
  t.equal(address.searchParams.get('scope'), 'openid email')
})

const seconds = (offset: number) => Date.parse('2026-01-01T00:00:00.000Z') / 1000 + offset
const CLAIMS: readonly [string, Readonly<Record<string, unknown>>, 'accepted' | 'refused'][] = [
  ['an audience list with our client only', { aud: ['rollcall'] }, 'accepted'],
  ['a further audience with azp = us', { aud: ['rollcall', 'other'], azp: 'rollcall' }, 'accepted'],
  ['a further audience without azp', { aud: ['rollcall', 'other'] }, 'refused'],
  ['a further audience with another azp', { aud: ['rollcall', 'other'], azp: 'other' }, 'refused'],
  ['another audience', { aud: 'other' }, 'refused'],
  ['no audience', { aud: undefined }, 'refused'],
  ['an empty audience list', { aud: [] }, 'refused'],
  ['another issuer', { iss: 'https://evil.example.com' }, 'refused'],
  ['no issuer', { iss: undefined }, 'refused'],
  ['another nonce', { nonce: 'canary-nonce' }, 'refused'],
  ['no nonce', { nonce: undefined }, 'refused'],
  ['no subject', { sub: undefined }, 'refused'],
  ['an empty subject', { sub: '' }, 'refused'],
  ['a subject that is a number', { sub: 7 }, 'refused'],
  ['no expiry', { exp: undefined }, 'refused'],
  ['an expiry that is a text', { exp: String(seconds(300)) }, 'refused'],
  ['expired within tolerance', { exp: seconds(-29) }, 'accepted'],
  ['expired beyond tolerance', { exp: seconds(-30) }, 'refused'],
  ['not valid yet, within tolerance', { nbf: seconds(30) }, 'accepted'],
  ['not valid yet, beyond tolerance', { nbf: seconds(31) }, 'refused'],
]

await t.test('each claim of the ID token is checked', async (t) => {
  const { liar, provider } = await together(t)
  for (const [name, claims, outcome] of CLAIMS)
    await t.test(name, async (t) => {
      liar.lies = { claims }
      const answer = await login(provider)
      if (outcome === 'accepted') t.equal((await provider.finish(answer)).subject.sub, 'alice')
      else await fails(t, () => provider.finish(answer), 'id_token_invalid')
    })
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const hmac = (key: string | Uint8Array) => (claims: Record<string, unknown>) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .sign(typeof key === 'string' ? new TextEncoder().encode(key) : key)

await t.test('an ID token is accepted only with a valid signature of the provider', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const stranger = await generateKeyPair('ES256')
  const rs512 = await generateKeyPair('RS512', { extractable: true })
  const kid = async () => ((await (await fetch(`${liar.url}/keys`)).json()) as { keys: { kid: string }[] }).keys[0]!.kid
  const sign = (key: CryptoKey, header: { alg: string; kid?: string }) => (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader(header).sign(key)
  const signed: readonly [string, Lies['sign']][] = [
    ['alg none', (claims) => `${part({ alg: 'none' })}.${part(claims)}.`],
    ['HMAC with our client secret', hmac(lyingClient.clientSecret)],
    ['HMAC with the public key', hmac(await exportSPKI(stranger.publicKey))],
    [
      'a foreign key under the right key id',
      async (claims) => sign(stranger.privateKey, { alg: 'ES256', kid: await kid() })(claims),
    ],
    ['a foreign key under its own key id', sign(stranger.privateKey, { alg: 'ES256', kid: 'foreign' })],
    ['an algorithm that discovery does not list', sign(rs512.privateKey, { alg: 'RS512' })],
    [
      'garbage as signature',
      async (claims) => `${part({ alg: 'ES256', kid: await kid() })}.${part(claims)}.${'A'.repeat(86)}`,
    ],
    ['no signature', async (claims) => `${part({ alg: 'ES256', kid: await kid() })}.${part(claims)}`],
    [
      'a critical extension',
      async (claims) => `${part({ alg: 'ES256', kid: await kid(), crit: ['x'], x: 1 })}.${part(claims)}.AAAA`,
    ],
    ['not a JWT', () => 'canary'],
    ['five parts', () => 'canary.canary.canary.canary.canary'],
  ]
  for (const [name, lie] of signed)
    await t.test(name, async (t) => {
      liar.lies = lie ? { sign: lie } : {}
      const answer = await login(provider)
      await fails(t, () => provider.finish(answer), 'id_token_invalid')
    })
  const taken = ['RS', 'PS', 'ES'].flatMap((kind) => ['256', '384', '512'].map((bits) => kind + bits))
  for (const alg of [...taken, 'EdDSA', 'Ed25519'])
    await t.test(`an ID token that is signed with ${alg} is accepted`, async (t) => {
      liar.lies = { document: { id_token_signing_alg_values_supported: ['none', alg] } }
      await liar.rotate(alg)
      const other = client(liar.url)
      t.equal((await other.finish(await login(other))).subject.sub, 'alice')
    })
})

await t.test('a provider without a supported signing algorithm is refused', async (t) => {
  const liar = await lyingProvider(t)
  for (const listed of [['none'], ['HS256', 'HS512'], []]) {
    liar.lies = { document: { id_token_signing_alg_values_supported: listed } }
    const refusal = await fails(t, () => client(liar.url).begin(freshSecrets()), 'provider_mismatch')
    t.match(whyOf(refusal), 'the discovery document has no usable algorithm for ID tokens')
  }
})

await t.test('the configured method of client authentication is used', async (t) => {
  const liar = await lyingProvider(t)
  const { clientSecret: _, ...known } = lyingClient
  for (const [clientAuthentication, proof] of [
    ['basic', 'header'],
    ['post', 'body'],
  ] as const) {
    const provider = client(liar.url, { clientAuthentication })
    liar.proofs.length = 0
    await provider.finish(await login(provider))
    t.strictSame(liar.proofs, [proof])
    liar.lies = { token: json(401, { error: 'invalid_client' }) }
    liar.proofs.length = 0
    await fails(t, async () => provider.finish(await login(provider)), 'oauth_client_refused')
    t.strictSame(liar.proofs, [proof], 'in this way alone')
    liar.lies = {}
  }
  const open = client(liar.url, { ...known, clientSecret: undefined, clientAuthentication: 'none' })
  liar.proofs.length = 0
  t.equal((await open.finish(await login(open))).subject.sub, 'alice')
  t.strictSame(liar.proofs, ['none'])
})

await t.test('the configured clock tolerance is applied to the second', async (t) => {
  const liar = await lyingProvider(t)
  const clock = virtualClock(new Date(Math.floor(Date.now() / 1000) * 1000).toISOString())
  const now = clock.now().getTime() / 1000
  for (const [tolerance, late] of [
    [1_000, 1],
    [30_000, 30],
    [300_000, 300],
  ] as const) {
    const provider = client(liar.url, { clock: { ...patient, now: clock.now }, clockTolerance: tolerance })
    const expired = async (exp: number) => {
      liar.lies = { claims: { iat: exp - 600, exp } }
      return provider.finish(await login(provider))
    }
    t.equal((await expired(now - late + 1)).subject.sub, 'alice')
    await fails(t, () => expired(now - late - 1), 'id_token_invalid')
  }
})

await t.test('a callback is checked in the documented order, and no code is sent after a failed check', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const { query, ...secrets } = await login(provider)
  const code = query.get('code')!
  const rows: readonly [string, string, Reason, string][] = [
    ['code twice', `code=${code}&code=${code}`, 'invalid_argument', 'invalid field code: given twice'],
    ['state twice', `code=${code}&state=a&state=b`, 'invalid_argument', 'invalid field state: given twice'],
    [
      'error twice, before iss',
      'error=a&error=b&iss=https://evil.example.com',
      'invalid_argument',
      'invalid field error: given twice',
    ],
    ['iss twice', `code=${code}&iss=${liar.url}&iss=${liar.url}`, 'invalid_argument', 'invalid field iss: given twice'],
    ['another issuer', `code=${code}&iss=https://evil.example.com`, 'issuer_mismatch', MESSAGES.issuer_mismatch],
    ['an issuer that is no URL', `code=${code}&iss=evil`, 'issuer_mismatch', MESSAGES.issuer_mismatch],
    ['nearly our issuer', `code=${code}&iss=${liar.url}/`, 'issuer_mismatch', MESSAGES.issuer_mismatch],
    [
      'another issuer, before error',
      'error=access_denied&iss=https://evil.example.com',
      'issuer_mismatch',
      MESSAGES.issuer_mismatch,
    ],
    ['an error, before code', `error=access_denied&code=${code}`, 'provider_error', MESSAGES.provider_error],
    ['neither code nor error', '', 'invalid_argument', 'invalid field code: must not be empty'],
    ['an empty code', 'code=&error=', 'invalid_argument', 'invalid field code: must not be empty'],
  ]
  const before = liar.asked.length
  for (const [name, text, reason, message] of rows)
    await t.test(name, async (t) => {
      await refused(t, () => provider.finish({ ...secrets, query: new URLSearchParams(text) }), reason, message)
    })
  t.equal(liar.asked.length, before, 'nobody was asked')

  const denied = (error: string) =>
    provider.finish({ ...secrets, query: new URLSearchParams({ error, error_description: '<b>' }) })
  t.strictSame((await fails(t, () => denied('access_denied'), 'provider_error')).metadata, { error: 'access_denied' })
  t.strictSame((await fails(t, () => denied('<script>\r\n'), 'provider_error')).metadata, {})
  query.set('iss', liar.url)
  t.equal((await provider.finish({ ...secrets, query })).subject.sub, 'alice', 'and the code was still good')
})

await t.test('each error of the token endpoint of a provider is reported with its own reason', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const rows: readonly [string, Lies['token'], Failure][] = [
    ['invalid_grant', json(400, { error: 'invalid_grant', error_description: 'no canary-1' }), 'code_refused'],
    ['invalid_request', json(400, { error: 'invalid_request' }), 'code_refused'],
    ['invalid_client', json(401, { error: 'invalid_client', error_description: 'canary@x' }), 'oauth_client_refused'],
    [
      'a challenge',
      json(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="canary"' }),
      'oauth_client_refused',
    ],
    ['unauthorized_client', json(400, { error: 'unauthorized_client' }), 'oauth_client_refused'],
    ['unauthorized_client with 401', json(401, { error: 'unauthorized_client' }), 'oauth_client_refused'],
    ['401 without a word', json(401, {}), 'oauth_client_refused'],
    ['invalid_client in trouble', json(503, { error: 'invalid_client' }), 'provider_unavailable'],
    ['another error', json(400, { error: 'unsupported_grant_type' }), 'provider_mismatch'],
    ['no ID token', { id_token: undefined }, 'provider_unavailable'],
    ['more than 1 MiB', filler, 'identity_too_large'],
    ['no access token', { access_token: undefined }, 'provider_unavailable'],
    ['another type of token', { token_type: 'mac' }, 'provider_unavailable'],
    ...Object.entries(unusable).map(
      ([name, answer]) => [name, answer, reasonOfUnusable(name)] satisfies [string, Lies['token'], Failure],
    ),
  ]
  for (const [name, token, reason] of rows)
    await t.test(name, async (t) => {
      liar.lies = {}
      const answer = await login(provider)
      if (token) liar.lies = { token }
      await fails(t, () => provider.finish(answer), reason, [answer.codeVerifier, answer.query.get('code')!])
    })
  t.notOk(liar.asked.includes('/elsewhere'), 'no redirect was followed')
})

await t.test('after invalid_client the next method of client authentication is tried', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const answer = await login(provider)
  let refusals = 0
  liar.lies = {
    token: (response) => {
      refusals++
      liar.lies = {}
      json(401, { error: 'invalid_client' })(response)
    },
  }
  t.equal((await provider.finish(answer)).subject.sub, 'alice')
  t.equal(refusals, 1)
})

await t.test('client_secret_post is tried first if the provider lists no other method', async (t) => {
  const liar = await lyingProvider(t)
  liar.lies = { document: { token_endpoint_auth_methods_supported: ['client_secret_post'] } }
  const provider = client(liar.url)
  const answer = await login(provider)
  t.equal((await provider.finish(answer)).subject.sub, 'alice')
  t.strictSame(liar.proofs, ['body'])
})

await t.test('a discovery document that cannot be used gives 503, until the provider corrects it', async (t) => {
  const liar = await lyingProvider(t)
  const documents: readonly [string, Lies['document'], Failure][] = [
    ['another issuer', { issuer: 'https://evil.example.com' }, 'provider_mismatch'],
    ['no issuer', { issuer: undefined }, 'provider_mismatch'],
    ['no token endpoint', { token_endpoint: undefined }, 'provider_mismatch'],
    ['no authorization endpoint', { authorization_endpoint: 7 }, 'provider_mismatch'],
    ['a script as endpoint', { authorization_endpoint: 'javascript:alert(1)' }, 'provider_mismatch'],
    ['no key set', { jwks_uri: undefined }, 'provider_mismatch'],
    ['more than 1 MiB', filler, 'provider_unavailable'],
    ...Object.entries(unusable).map(
      ([name, answer]) => [name, answer, reasonOfUnusable(name)] satisfies [string, Lies['document'], Failure],
    ),
  ]
  for (const [name, document, reason] of documents)
    await t.test(name, async (t) => {
      const provider = client(liar.url)
      if (document) liar.lies = { document }
      await fails(t, () => provider.begin(freshSecrets()), reason)
      liar.lies = {}
      t.equal((await provider.begin(freshSecrets())).origin, liar.url, 'asked again at once')
    })
  t.notOk(liar.asked.includes('/elsewhere'))
  const dead = await deadUrl()
  await fails(t, () => client(dead).begin(freshSecrets()), 'provider_unavailable')
  await fails(
    t,
    () => client(dead).finish({ ...freshSecrets(), query: new URLSearchParams({ code: 'canary' }) }),
    'provider_unavailable',
  )
})

await t.test('concurrent logins read the discovery document and the keys once', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const answers = await Promise.all([login(provider), login(provider), login(provider)])
  await Promise.all(answers.map((answer) => provider.finish(answer)))
  const count = (path: string) => liar.asked.filter((asked) => asked === path).length
  t.equal(count('/.well-known/openid-configuration'), 1)
  t.equal(count('/keys'), 1)
})

await t.test('an unknown key id makes the client read the keys again, at most once a minute', async (t) => {
  const { clock, liar, provider } = await together(t)
  const enter = async () => provider.finish(await login(provider))
  const reads = () => liar.asked.filter((path) => path === '/keys').length
  await enter()
  await liar.rotate()
  await enter()
  t.equal(reads(), 2, 'a rotated key works at once')
  await liar.rotate()
  await fails(t, enter, 'id_token_invalid')
  await clock.advance(59_999)
  await fails(t, enter, 'id_token_invalid')
  t.equal(reads(), 2, 'but the provider is not asked again and again')
  await clock.advance(1)
  await enter()
  t.equal(reads(), 3)
  await clock.advance(300_000)
  await enter()
  t.equal(reads(), 3)
  await clock.advance(1)
  await enter()
  t.equal(reads(), 4, 'keys are held for five minutes')
})

await t.test('the discovery document is cached for an hour', async (t) => {
  const { clock, liar, provider } = await together(t)
  const reads = () => liar.asked.filter((path) => path === '/.well-known/openid-configuration').length
  await provider.begin(freshSecrets())
  await clock.advance(3_600_000)
  await provider.begin(freshSecrets())
  t.equal(reads(), 1)
  await clock.advance(1)
  await provider.begin(freshSecrets())
  t.equal(reads(), 2)
})

await t.test('times in tokens are checked by the clock of the service, not by that of the system', async (t) => {
  const liar = await lyingProvider(t)
  const clock = virtualClock('2001-02-03T04:05:06.000Z')
  liar.now = () => clock.now().getTime()
  const provider = client(liar.url, { clock })
  t.equal((await provider.finish(await login(provider))).subject.sub, 'alice')
  await liar.rotate()
  t.equal((await provider.finish(await login(provider))).subject.sub, 'alice', 'with keys that are held, too')
  liar.now = () => clock.now().getTime() - 600_000
  const answer = await login(provider)
  await fails(t, () => provider.finish(answer), 'id_token_invalid')
})

await t.test('a key set that cannot be used gives 503', async (t) => {
  const liar = await lyingProvider(t)
  for (const [name, keys] of Object.entries({
    ...unusable,
    'more than 1 MiB': filler,
    'keys that are no objects': json(200, { keys: [1] }),
  }))
    await t.test(name, async (t) => {
      const provider = client(liar.url)
      liar.lies = {}
      const answer = await login(provider)
      liar.lies = { keys }
      await fails(t, () => provider.finish(answer), reasonOfUnusable(name))
    })
  t.notOk(liar.asked.includes('/elsewhere'))
})

for (const [part, path] of [
  ['document', '/.well-known/openid-configuration'],
  ['token', '/token'],
  ['keys', '/keys'],
] as const)
  await t.test(`a login gets 503 if the provider takes more than 5 s for its ${part}`, async (t) => {
    const liar = await lyingProvider(t)
    const clock = virtualClock()
    liar.now = () => clock.now().getTime()
    const provider = client(liar.url, { clock })
    const answer = part === 'document' ? undefined : await login(provider)
    liar.lies = { [part]: silence }
    const work = () => (answer ? provider.finish(answer) : provider.begin(freshSecrets()))
    const failing = fails(t, work, 'provider_unavailable')
    const over = noted(failing)
    await eventually(() => liar.asked.includes(path), 'the call')
    await clock.advance(4_999)
    t.strictSame(over, [])
    await clock.advance(1)
    await failing
  })

await t.test('profile claims of an unexpected type are ignored', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  liar.lies = {
    claims: {
      email: 7,
      email_verified: 'true',
      name: null,
      picture: ['x'],
      sid: 7,
      preferred_username: 'broken \ud800',
    },
  }
  const { attributes, providerSession, ...rest } = await provider.finish(await login(provider))
  t.strictSame(Object.keys(attributes).sort(), [
    'claims',
    'oidc.email_verified',
    'oidc.preferred_username',
    'oidc.provider',
    'oidc.sub',
  ])
  t.equal(attributes['oidc.preferred_username'], 'broken \ufffd')
  t.strictSame(Object.keys(providerSession!), ['issuedAt'])
  t.strictSame(rest, { subject: { issuer: liar.url, sub: 'alice' }, emailVerified: true })
})
