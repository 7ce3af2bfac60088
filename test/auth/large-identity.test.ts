import t from 'tap'
import type { ClaimUse } from '../../src/access/claims.ts'
import { type CodehostSettings, codehost } from '../../src/auth/codehost/codehost.ts'
import { freshSecrets } from '../../src/auth/identity.ts'
import { whyOf } from '../../src/base/errors.ts'
import { virtualClock } from '../virtual-clock.ts'
import { client, fails, login } from './at-provider.ts'
import { directly } from './directly.ts'
import { refused } from './refused.ts'
import { codehostClient, codehostStandIn } from './stand-ins/codehost.ts'
import { lyingProvider } from './stand-ins/liar.ts'

const LIMIT = 40_960
type Claims = Readonly<Record<string, unknown>>

const many = (count: number, size = 36) => Array.from({ length: count }, (_, n) => `${n}-`.padEnd(size, 'g'))
const GROUPS = many(5000)
const asks = (claim: string, ...anyOf: readonly string[]): ClaimUse => ({ claim, anyOf })
const small = { email: 'ada@example.com', email_verified: true, name: 'Ada', sid: 'session-1' }

/** Claims of the provider, claims in rules, and the stored claims. A text is the cause of the refusal. */
const ROWS: readonly [string, Claims, readonly ClaimUse[], Claims | string][] = [
  ['drops groups that no rule reads', { ...small, groups: GROUPS }, [], small],
  [
    'keeps complete claims that rules read if they fit',
    { ...small, groups: many(500), wide: 'w'.repeat(30_000) },
    [asks('groups', 'x')],
    { ...small, groups: many(500) },
  ],
  [
    'keeps the named items of a list that is too large',
    { ...small, groups: GROUPS },
    [asks('groups', GROUPS[4999]!, GROUPS[7]!, 'x')],
    { ...small, groups: [GROUPS[7], GROUPS[4999]] },
  ],
  [
    'keeps the named items of a nested list',
    { ...small, realm_access: { roles: GROUPS } },
    [asks('/realm_access/roles', GROUPS[3]!)],
    { ...small, realm_access: { roles: [GROUPS[3]] } },
  ],
  [
    'keeps the smallest other claims',
    { ...small, a: 'a'.repeat(15_000), b: 'b'.repeat(15_000), c: 'c'.repeat(20_000) },
    [],
    { ...small, a: 'a'.repeat(15_000), b: 'b'.repeat(15_000) },
  ],
  ['drops an embedded picture', { ...small, picture: `data:image/png;base64,${'A'.repeat(45_000)}` }, [], small],
  [
    'counts bytes in the stored form',
    { ...small, quotes: '"'.repeat(11_000), letters: 'ü'.repeat(12_000) },
    [],
    { ...small, letters: 'ü'.repeat(12_000) },
  ],
  [
    'refuses if rules name too many values',
    { ...small, groups: GROUPS },
    [asks('groups', ...GROUPS)],
    'the provider sends too much about this person: the claims that rules use exceed 40960 bytes',
  ],
  [
    'refuses a name that is too long',
    { ...small, name: 'n'.repeat(30_000) },
    [],
    'the provider sends too much about this person: the claims that rules use exceed 40960 bytes',
  ],
]

await t.test('an identity that is too large is reduced to the data for rules and session, or refused', async (t) => {
  const liar = await lyingProvider(t)
  for (const [name, claims, asked, kept] of ROWS)
    await t.test(name, async (t) => {
      const provider = client(liar.url, { asked })
      liar.lies = { claims }
      const answer = await login(provider)
      if (typeof kept === 'string') {
        const refusal = await fails(t, () => provider.finish(answer), 'identity_too_large')
        t.equal(whyOf(refusal), kept)
        return
      }
      const { attributes, reduced } = await provider.finish(answer)
      t.ok(Buffer.byteLength(JSON.stringify(attributes)) <= LIMIT)
      t.equal(reduced, true)
      const { iss, aud, sub, iat, exp, ...rest } = JSON.parse(attributes['claims']!) as Claims
      t.strictSame([iss, aud, sub, typeof iat, typeof exp], [liar.url, 'rollcall', 'alice', 'number', 'number'])
      t.strictSame(rest, kept)
      t.match(attributes, { 'oidc.email': small.email, 'oidc.email_verified': 'true', name: 'Ada' })
    })
})

await t.test('an identity up to the size limit is kept unchanged', async (t) => {
  const liar = await lyingProvider(t)
  const provider = client(liar.url)
  const finish = async (bytes: number) => {
    liar.lies = { claims: { wide: 'w'.repeat(bytes) } }
    return provider.finish(await login(provider))
  }
  const least = Buffer.byteLength(JSON.stringify((await finish(0)).attributes))
  const whole = await finish(LIMIT - least)
  t.equal(Buffer.byteLength(JSON.stringify(whole.attributes)), LIMIT)
  t.notOk('reduced' in whole)
  const cut = await finish(LIMIT - least + 1)
  t.equal(cut.reduced, true)
  t.notMatch(cut.attributes['claims'], 'wide')
})

const host = (url: string, more: Partial<CodehostSettings> = {}) =>
  codehost({
    ...directly,
    clock: virtualClock(),
    userAgent: 'rollcall/1.2.3',
    kind: 'github',
    serverUrl: url,
    apiUrl: `${url}/api`,
    ...codehostClient,
    redirectAddress: 'https://flags.example.com',
    callbackPath: '/auth/v1/method/codehost/callback',
    scopes: ['read:org'],
    allowedOrganizations: [],
    allowedTeams: {},
    parameters: {},
    ...more,
  })
const enter = async (way: ReturnType<typeof host>) => {
  const secrets = freshSecrets()
  const response = await fetch(await way.begin(secrets), { redirect: 'manual' })
  return way.finish({ ...secrets, query: new URL(response.headers.get('location')!).searchParams })
}
const TEAMS = many(1500, 60)
const MEMBERSHIPS: readonly [
  string,
  Partial<CodehostSettings>,
  readonly string[],
  Readonly<Record<string, readonly string[]>>,
][] = [
  ['nothing is named', {}, [], {}],
  [
    'rules name some',
    { named: { organizations: ['ACME', 'none'], teams: [`acme/${TEAMS[1400]}`] } },
    ['acme'],
    { acme: [TEAMS[1400]!] },
  ],
  ['an organization is allowed', { allowedOrganizations: ['acme'] }, ['acme'], {}],
  [
    'teams are allowed',
    { allowedOrganizations: ['acme'], allowedTeams: { acme: [TEAMS[2]!] } },
    ['acme'],
    { acme: [TEAMS[2]!] },
  ],
]

await t.test('of too many memberships the service keeps those that rules and restrictions name', async (t) => {
  const stand = await codehostStandIn(t)
  stand.pageSize = 100
  stand.organizations = [{ login: 'acme' }, { login: 'other' }]
  stand.teams = TEAMS.map((slug) => ({ slug, organization: { login: 'acme' } }))
  for (const [name, settings, organizations, teams] of MEMBERSHIPS)
    await t.test(name, async (t) => {
      const { attributes, reduced } = await enter(host(stand.url, settings))
      t.strictSame(JSON.parse(attributes['codehost.organizations']!), organizations)
      t.strictSame(JSON.parse(attributes['codehost.teams']!), teams)
      t.ok(Buffer.byteLength(JSON.stringify(attributes)) <= LIMIT)
      // If the restrictions have already reduced it, nothing more is dropped.
      t.equal(reduced === true, !('allowedTeams' in settings))
    })
  const all = { organizations: [], teams: TEAMS.map((slug) => `acme/${slug}`) }
  const message = 'handling codehost callback: the provider tells more of this person than is kept'
  await refused(t, () => enter(host(stand.url, { named: all })), 'identity_too_large', message)
})
