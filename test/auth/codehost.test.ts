import t, { type Test } from 'tap'
import { type CodehostSettings, codehost } from '../../src/auth/codehost/codehost.ts'
import { freshSecrets } from '../../src/auth/identity.ts'
import type { Reason } from '../../src/base/errors.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { directly } from './directly.ts'
import { refused } from './refused.ts'
import { codehostClient, codehostStandIn } from './stand-ins/codehost.ts'
import { type Answer, deadUrl, filler, json, reasonOfUnusable, silence, unusable } from './stand-ins/listen.ts'

const back = 'https://flags.example.com/auth/v1/method/codehost/callback'
const MESSAGES = {
  code_refused: 'handling codehost callback: code was refused',
  identity_too_large: 'handling codehost callback: the provider tells more of this person than is kept',
  provider_error: 'handling codehost callback: provider refused the login',
  oauth_client_refused: 'provider refused the client of this service',
  provider_mismatch: 'provider and configuration do not fit',
  provider_unavailable: 'service is temporarily unavailable',
} as const satisfies Partial<Record<Reason, string>>

const client = (url: string, more: Partial<CodehostSettings> = {}) =>
  codehost({
    ...directly,
    clock: virtualClock(),
    userAgent: 'rollcall/1.2.3',
    kind: 'github',
    serverUrl: `${url}/`,
    apiUrl: `${url}/api`,
    ...codehostClient,
    redirectAddress: 'https://flags.example.com',
    callbackPath: '/auth/v1/method/codehost/callback',
    scopes: ['read:user', 'read:org'],
    allowedOrganizations: [],
    allowedTeams: {},
    parameters: {},
    ...more,
  })

const login = async (host: ReturnType<typeof client>) => {
  const secrets = freshSecrets()
  const response = await fetch(await host.begin(secrets), { redirect: 'manual' })
  await response.text()
  return { ...secrets, query: new URL(response.headers.get('location')!).searchParams }
}
const enter = async (host: ReturnType<typeof client>) => host.finish(await login(host))

const fails = async (t: Test, work: () => unknown, reason: keyof typeof MESSAGES, secrets: readonly string[] = []) => {
  const refusal = await refused(t, work, reason, MESSAGES[reason], secrets)
  if (reason === 'provider_unavailable') t.match(refusal.headers, { 'retry-after': /^\d+$/ })
  return refusal
}

await t.test('the login address at a provider has the required parameters and no secret', async (t) => {
  const secrets = freshSecrets()
  const address = await client('https://code.example.com').begin(secrets)
  t.equal(address.origin + address.pathname, 'https://code.example.com/login/oauth/authorize')
  const { code_challenge, ...parameters } = Object.fromEntries(address.searchParams)
  t.strictSame(parameters, {
    client_id: 'rollcall',
    redirect_uri: back,
    response_type: 'code',
    scope: 'read:user read:org',
    state: secrets.state,
    code_challenge_method: 'S256',
  })
  t.match(code_challenge, /^[\w-]{43}$/)
  t.notOk(address.href.includes(secrets.codeVerifier))
})

await t.test('a login returns the attributes of the person and all pages of memberships', async (t) => {
  const host = await codehostStandIn(t)
  host.organizations = ['acme', 'beta', 'gamma', 'delta', '__proto__'].map((login) => ({ login }))
  host.teams = [
    { slug: 'core', organization: { login: 'acme' } },
    { slug: 'ops', organization: { login: 'acme' } },
    { slug: 'core', organization: { login: '__proto__' } },
  ]
  const identity = await enter(client(host.url))
  t.strictSame(identity, {
    subject: { issuer: host.url, sub: '7' },
    email: 'alice@example.com',
    attributes: {
      'codehost.email': 'alice@example.com',
      'codehost.name': 'Alice',
      'codehost.picture': 'https://example.com/a.png',
      'codehost.sub': '7',
      'codehost.preferred_username': 'alice',
      'codehost.organizations': '["acme","beta","gamma","delta","__proto__"]',
      'codehost.teams': '{"acme":["core","ops"],"__proto__":["core"]}',
      email: 'alice@example.com',
      name: 'Alice',
      picture: 'https://example.com/a.png',
    },
  })
  t.ok(host.asked.includes('GET /api/user/orgs?per_page=100'))
  t.ok(host.asked.includes('GET /api/user/orgs?per_page=100&page=3'))

  host.asked.length = 0
  host.user = { id: 8, login: 'bob', name: null, email: null, avatar_url: null }
  const bob = await enter(client(host.url, { scopes: ['read:user'] }))
  t.strictSame(bob, {
    subject: { issuer: host.url, sub: '8' },
    attributes: { 'codehost.sub': '8', 'codehost.preferred_username': 'bob' },
  })
  t.notOk(
    host.asked.some((path) => /orgs|teams/.test(path)),
    'without read:org memberships are not read',
  )
})

const team = (login: string, slug: string) => ({ slug, organization: { login } })
type Membership = { readonly organizations: string; readonly teams: string }
const RESTRICTIONS: readonly [string, Partial<CodehostSettings>, Membership | 'refused'][] = [
  [
    'an organization',
    { allowedOrganizations: ['acme'] },
    { organizations: '["acme"]', teams: '{"acme":["core","ops"]}' },
  ],
  [
    'one of several',
    { allowedOrganizations: ['none', 'beta'] },
    { organizations: '["beta"]', teams: '{"beta":["core"]}' },
  ],
  ['a foreign organization', { allowedOrganizations: ['none'] }, 'refused'],
  [
    'an organization in other case',
    { allowedOrganizations: ['ACME'] },
    { organizations: '["acme"]', teams: '{"acme":["core","ops"]}' },
  ],
  [
    'a team in other case',
    { allowedOrganizations: ['Acme'], allowedTeams: { aCME: ['Core'] } },
    { organizations: '["acme"]', teams: '{"acme":["core"]}' },
  ],
  ['a letter that only looks the same folded', { allowedOrganizations: ['ac\u212ae', 'be\u0442a'] }, 'refused'],
  [
    'a team',
    { allowedOrganizations: ['acme', 'beta'], allowedTeams: { acme: ['core'] } },
    { organizations: '["acme","beta"]', teams: '{"acme":["core"]}' },
  ],
  ['a team one is not in', { allowedOrganizations: ['acme'], allowedTeams: { acme: ['security'] } }, 'refused'],
  [
    'an allowed organization without teams',
    { allowedOrganizations: ['beta', 'none'], allowedTeams: { none: ['core'] } },
    'refused',
  ],
  [
    'a team of an organization that is not allowed',
    { allowedOrganizations: ['beta'], allowedTeams: { acme: ['core'] } },
    'refused',
  ],
  [
    'a team of that name elsewhere',
    { allowedOrganizations: ['acme', 'none'], allowedTeams: { none: ['core'] } },
    'refused',
  ],
  ['memberships without the scope to read them', { allowedOrganizations: ['acme'], scopes: ['read:user'] }, 'refused'],
]

await t.test('only members of the allowed organizations may log in, and other memberships are not kept', async (t) => {
  const host = await codehostStandIn(t)
  host.organizations = [{ login: 'beta' }, { login: 'other' }, { login: 'acme' }]
  host.teams = [team('other', 'core'), team('acme', 'core'), team('acme', 'ops'), team('beta', 'core')]
  for (const [name, settings, outcome] of RESTRICTIONS)
    await t.test(name, async (t) => {
      const provider = client(host.url, settings)
      const { attributes, barred } = await enter(provider)
      if (outcome === 'refused') return void t.match(barred, /^membership_(none|other|team)$/)
      t.equal(barred, undefined)
      const sorted = JSON.stringify((JSON.parse(attributes['codehost.organizations']!) as string[]).sort())
      t.strictSame({ organizations: sorted, teams: attributes['codehost.teams'] }, outcome)
    })
})

await t.test('further pages are read from the same server only, and at most 20 of them', async (t) => {
  const [host, elsewhere] = await Promise.all([codehostStandIn(t), codehostStandIn(t)])
  host.organizations = ['acme', 'beta', 'gamma'].map((login) => ({ login }))
  host.next = (address) => address.replace(host.url, elsewhere.url)
  t.equal((await enter(client(host.url))).attributes['codehost.organizations'], '["acme","beta"]')
  t.strictSame(elsewhere.asked, [], 'the access token went nowhere else')

  host.next = (address) => address.replace(/page=\d+$/, 'page=1')
  host.asked.length = 0
  await enter(client(host.url))
  t.equal(host.asked.filter((path) => path.includes('/orgs')).length, 20)
})

await t.test('each error of the token endpoint of a code host is reported with its own reason', async (t) => {
  const host = await codehostStandIn(t)
  const provider = client(host.url)
  const used = await login(provider)
  await provider.finish(used)
  await fails(t, () => provider.finish(used), 'code_refused', [used.query.get('code')!])
  const stolen = await login(provider)
  await fails(t, () => provider.finish({ ...stolen, codeVerifier: freshSecrets().codeVerifier }), 'code_refused')
  await fails(t, () => enter(client(host.url, { clientSecret: 'canary-wrong' })), 'oauth_client_refused')

  const rows: readonly [string, Answer, keyof typeof MESSAGES][] = [
    ['invalid_grant with 400', json(400, { error: 'invalid_grant' }), 'code_refused'],
    ['invalid_client with 401', json(401, { error: 'invalid_client' }), 'oauth_client_refused'],
    ['an error code of the host', json(200, { error: 'redirect_uri_mismatch' }), 'code_refused'],
    ['no access token', json(200, { scope: 'read:org' }), 'provider_unavailable'],
    [
      'an access token that is no valid header value',
      json(200, { access_token: 'canary\n\ud83d', token_type: 'bearer' }),
      'provider_unavailable',
    ],
    ...Object.entries(unusable).map(
      ([name, answer]) => [name, answer, reasonOfUnusable(name)] satisfies [string, Answer, keyof typeof MESSAGES],
    ),
  ]
  for (const [name, answer, reason] of rows)
    await t.test(name, async (t) => {
      host.lies = {}
      const attempt = await login(provider)
      host.lies = { '/login/oauth/access_token': answer }
      await fails(t, () => provider.finish(attempt), reason, [attempt.query.get('code')!, attempt.codeVerifier])
    })
  t.notOk(host.asked.some((path) => path.includes('/elsewhere')))
})

await t.test('a login gets 503 if the API of the code host refuses the call or sends an invalid answer', async (t) => {
  const host = await codehostStandIn(t)
  const provider = client(host.url)
  const odd = {
    '401': json(401, { message: 'Bad credentials' }),
    '403': json(403, { message: 'canary' }, { 'www-authenticate': 'Bearer' }),
  }
  const users = {
    'no id': json(200, { login: 'alice' }),
    'an id that is a text': json(200, { id: '7' }),
    'an unsafe id': json(200, { id: 2 ** 53 }),
  }
  const lists = { 'a list of numbers': json(200, [1]), 'an organization without a name': json(200, [{ login: 7 }]) }
  const { 'a JSON list': _, ...unusableList } = unusable
  const rows = [
    ...Object.entries({ ...unusable, ...odd, ...users }).map(([name, answer]) => ['/api/user', name, answer] as const),
    ...Object.entries({ ...unusableList, ...odd, ...lists }).map(
      ([name, answer]) => ['/api/user/orgs', name, answer] as const,
    ),
    ...Object.entries({ ...odd, ...lists, HTML: unusable['HTML']! }).map(
      ([name, answer]) => ['/api/user/teams', name, answer] as const,
    ),
  ]
  for (const [path, name, answer] of rows)
    await t.test(`a login handles this answer of ${path}: ${name}`, async (t) => {
      host.lies = { [path]: answer }
      await fails(t, () => enter(provider), reasonOfUnusable(name))
    })
  t.notOk(host.asked.some((path) => path.includes('/elsewhere')))
  for (const path of ['/login/oauth/access_token', '/api/user', '/api/user/orgs'])
    await t.test(`a login refuses an answer of ${path} with more than 1 MiB`, async (t) => {
      host.lies = {}
      const answer = await login(provider)
      host.lies = { [path]: json(200, { id: 7, ...filler }) }
      await fails(t, () => provider.finish(answer), 'identity_too_large')
    })
  const dead = client(await deadUrl())
  await fails(
    t,
    () => dead.finish({ ...freshSecrets(), query: new URLSearchParams({ code: 'canary' }) }),
    'provider_unavailable',
  )
})

for (const path of ['/login/oauth/access_token', '/api/user', '/api/user/teams'])
  await t.test(`a login gets 503 if a call of ${path} takes more than 5 s`, async (t) => {
    const host = await codehostStandIn(t)
    const clock = virtualClock()
    const provider = client(host.url, { clock })
    const answer = await login(provider)
    host.lies = { [path]: silence }
    const failing = fails(t, () => provider.finish(answer), 'provider_unavailable')
    const over = noted(failing)
    await eventually(() => host.asked.some((asked) => asked.split(/[ ?]/)[1] === path), 'the call')
    await clock.advance(4_999)
    t.strictSame(over, [])
    await clock.advance(1)
    await failing
  })

await t.test('a callback is checked in the documented order, and no code is sent after a failed check', async (t) => {
  const host = await codehostStandIn(t)
  const provider = client(host.url)
  const { query, ...secrets } = await login(provider)
  const code = query.get('code')!
  const before = host.asked.length
  const rows: readonly [string, Reason, string][] = [
    [`code=${code}&code=${code}&error=a`, 'invalid_argument', 'invalid field code: given twice'],
    ['error=a&error=b', 'invalid_argument', 'invalid field error: given twice'],
    [`error=access_denied&code=${code}`, 'provider_error', MESSAGES.provider_error],
    ['state=x', 'invalid_argument', 'invalid field code: must not be empty'],
  ]
  for (const [text, reason, message] of rows)
    await refused(t, () => provider.finish({ ...secrets, query: new URLSearchParams(text) }), reason, message)
  t.equal(host.asked.length, before)
  query.set('iss', `${host.url}/login/oauth`)
  t.equal((await provider.finish({ ...secrets, query })).subject.sub, '7', 'a code host has no issuer to compare with')
})
