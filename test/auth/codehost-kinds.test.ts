import t, { type Test } from 'tap'
import { type CodehostSettings, codehost } from '../../src/auth/codehost/codehost.ts'
import { freshSecrets } from '../../src/auth/identity.ts'
import { virtualClock } from '../virtual-clock.ts'
import { directly } from './directly.ts'
import { refused } from './refused.ts'
import { codehostClient, codehostStandIn } from './stand-ins/codehost.ts'
import { json, unusable } from './stand-ins/listen.ts'

type Host = Awaited<ReturnType<typeof codehostStandIn>>

const client = (host: Host, kind: CodehostSettings['kind'], more: Partial<CodehostSettings> = {}) =>
  codehost({
    ...directly,
    clock: virtualClock(),
    userAgent: 'rollcall/1.2.3',
    kind,
    serverUrl: host.url,
    apiUrl: host.api,
    ...codehostClient,
    redirectAddress: 'https://flags.example.com',
    callbackPath: '/auth/v1/method/codehost/callback',
    scopes: ['read:org', 'read:user', 'user:email', 'read:organization', 'read_api'],
    parameters: {},
    allowedOrganizations: [],
    allowedTeams: {},
    ...more,
  })
const enter = async (way: ReturnType<typeof client>) => {
  const secrets = freshSecrets()
  const response = await fetch(await way.begin(secrets), { redirect: 'manual' })
  await response.text()
  return way.finish({ ...secrets, query: new URL(response.headers.get('location')!).searchParams })
}
const paths = ({ asked }: Host) => asked.filter((path) => path.startsWith('GET ') && !path.includes('authorize'))

/** User resource of Gitea and Forgejo: `modules/structs/user.go`. */
const giteaUser = {
  id: 3,
  login: 'ada',
  username: 'ada',
  full_name: 'Ada L.',
  email: 'ada@example.com',
  avatar_url: 'https://git.example.com/a.png',
  is_admin: false,
}
/** `modules/structs/org.go`: `name` is newer, `username` is deprecated. */
const giteaOrganization = (name: string, n: number) =>
  n % 2 === 0 ? { id: n, name, username: name, full_name: `The ${name}` } : { id: n, username: name, full_name: '' }

await t.test('a login at Gitea or Forgejo reads their field names, all pages, and teams by name', async (t) => {
  const host = await codehostStandIn(t, 'gitea')
  host.user = giteaUser
  host.organizations = ['acme', 'beta', 'gamma', 'delta', 'last'].map(giteaOrganization)
  const teams = ['Owners', 'core', 'web.ops', 'sre', 'docs']
  host.teams = teams.map((name, id) => ({ id, name, organization: giteaOrganization('acme', id), permission: 'read' }))
  // The links contain an address that is unreachable here.
  host.next = (address) => address.replace(host.url, 'https://git.internal.example')
  const { subject, attributes, reduced } = await enter(client(host, 'gitea'))
  t.strictSame(subject, { issuer: host.url, sub: '3' })
  t.strictSame(attributes, {
    'codehost.email': 'ada@example.com',
    'codehost.name': 'Ada L.',
    'codehost.picture': 'https://git.example.com/a.png',
    'codehost.sub': '3',
    'codehost.preferred_username': 'ada',
    'codehost.organizations': '["acme","beta","gamma","delta","last"]',
    'codehost.teams': '{"acme":["Owners","core","web.ops","sre","docs"]}',
    email: 'ada@example.com',
    name: 'Ada L.',
    picture: 'https://git.example.com/a.png',
  })
  t.equal(reduced, undefined)
  t.strictSame(paths(host), [
    'GET /api/v1/user',
    ...['', '&page=2', '&page=3'].map((page) => `GET /api/v1/user/orgs?limit=50${page}`),
    ...['', '&page=2', '&page=3'].map((page) => `GET /api/v1/user/teams?limit=50${page}`),
  ])

  for (const [name, settings, outcome] of [
    ['an organization', { allowedOrganizations: ['ACME'] }, 'in'],
    ['another', { allowedOrganizations: ['other'] }, 'out'],
    ['a team', { allowedOrganizations: ['acme'], allowedTeams: { acme: ['owners'] } }, 'in'],
    ['another team', { allowedOrganizations: ['acme'], allowedTeams: { acme: ['web'] } }, 'out'],
    ['without the scope', { allowedOrganizations: ['acme'], scopes: ['read:org'] }, 'out'],
  ] as const)
    await t.test(name, async (t) => {
      const way = client(host, 'gitea', settings)
      t.match((await enter(way)).barred ?? 'in', outcome === 'in' ? 'in' : /^membership_/)
    })
})

await t.test('a login at Gitea accepts a person without name and address, and reads at most 20 pages', async (t) => {
  const host = await codehostStandIn(t, 'gitea')
  host.user = { ...giteaUser, full_name: '', email: '', avatar_url: '' }
  const { attributes } = await enter(client(host, 'gitea', { scopes: [] }))
  t.strictSame(attributes, { 'codehost.sub': '3', 'codehost.preferred_username': 'ada' }, 'an empty text is none')

  host.pageSize = 1
  host.organizations = Array.from({ length: 30 }, (_, n) => giteaOrganization(`org-${n}`, n))
  const many = await enter(client(host, 'gitea'))
  t.equal((JSON.parse(many.attributes['codehost.organizations']!) as unknown[]).length, 20)
  t.equal(many.reduced, true, 'what is not read is told to the operator')
  host.lies = { '/api/v1/user/orgs': json(200, [], { 'x-total-count': '30' }) }
  t.equal((await enter(client(host, 'gitea'))).attributes['codehost.organizations'], '[]', 'an empty page is the last')
})

/** Resources of GitLab: `doc/api/users.md`, `doc/api/groups.md`. */
const gitlabUser = {
  id: 9,
  username: 'ada',
  name: 'Ada L.',
  state: 'active',
  email: 'ada@example.com',
  avatar_url: null,
  confirmed_at: '2012-05-23T09:05:22.000Z',
}
const gitlabGroup = (full_path: string, id: number) => ({
  id,
  name: 'Any name',
  path: full_path.split('/').at(-1),
  full_path,
  parent_id: full_path.includes('/') ? 1 : null,
})

await t.test('groups of GitLab count as organizations by their full path, and there are no teams', async (t) => {
  const host = await codehostStandIn(t, 'gitlab')
  host.user = gitlabUser
  host.organizations = ['acme', 'acme/platform', 'acme/platform/core', 'other/deep/down'].map(gitlabGroup)
  const address = await client(host, 'gitlab').begin(freshSecrets(), true)
  t.equal(address.pathname, '/oauth/authorize')
  t.equal(address.searchParams.get('prompt'), 'login')

  const { subject, attributes } = await enter(client(host, 'gitlab'))
  t.strictSame(subject, { issuer: host.url, sub: '9' })
  t.match(attributes, {
    'codehost.preferred_username': 'ada',
    'codehost.name': 'Ada L.',
    'codehost.organizations': '["acme","acme/platform","acme/platform/core","other/deep/down"]',
    'codehost.teams': '{}',
    email: 'ada@example.com',
  })
  t.notOk('picture' in attributes)
  t.strictSame(paths(host), [
    'GET /api/v4/user',
    ...['', '&page=2'].map((page) => `GET /api/v4/groups?min_access_level=10&per_page=100${page}`),
  ])
  for (const [allowed, outcome] of [
    ['acme/platform/core', 'in'],
    ['Acme/Platform', 'in'],
    ['other/deep/down', 'in'],
    ['other', 'out'],
    ['other/deep', 'out'],
    ['platform', 'out'],
  ] as const)
    await t.test(allowed, async (t) => {
      const way = client(host, 'gitlab', { allowedOrganizations: [allowed] })
      t.match((await enter(way)).barred ?? 'in', outcome === 'in' ? 'in' : /^membership_/)
    })
  t.notOk(host.asked.some((path) => path.includes('emails') || path.includes('teams')))
})

const at = (email: unknown, primary: unknown, verified: unknown) => ({ email, primary, verified, visibility: null })
/** Address list of the host, and the expected address. */
const ADDRESSES: readonly [string, unknown, string | undefined][] = [
  ['one', [at('a@x', true, true)], 'a@x'],
  ['the primary one of several', [at('b@x', false, true), at('a@x', true, true), at('c@x', false, true)], 'a@x'],
  ['a primary one that is not verified', [at('a@x', true, false), at('b@x', false, true)], undefined],
  ['no primary address', [at('a@x', false, true)], undefined],
  ['texts instead of booleans', [at('a@x', 'true', 'true'), at('b@x', 1, 1)], undefined],
  ['no text', [at(7, true, true)], undefined],
  ['nothing', [], undefined],
]

const askedForAddress = (host: Host) => host.asked.some((path) => path.includes('/user/emails'))

const addresses = async (t: Test, kind: 'github' | 'gitea', user: object) => {
  const host = await codehostStandIn(t, kind)
  const way = client(host, kind)
  for (const [name, emails, email] of ADDRESSES) {
    host.user = { ...user, email: kind === 'github' ? null : '' }
    host.emails = emails
    const identity = await enter(way)
    t.strictSame(
      [identity.email, identity.attributes['email'], identity.attributes['codehost.email']],
      [email, email, email],
      name,
    )
  }
  for (const status of [403, 404]) {
    host.lies = { [`${new URL(host.api).pathname}/user/emails`]: json(status, { message: 'no' }) }
    t.equal((await enter(way)).email, undefined, `${status}: who may not ask is told of none`)
  }
  for (const answer of [unusable['HTML']!, unusable['500']!, json(200, { email: 'a@x' }), json(200, ['a@x'])]) {
    host.lies = { [`${new URL(host.api).pathname}/user/emails`]: answer }
    await refused(t, () => enter(way), 'provider_unavailable')
  }
  host.lies = {}
  host.asked.length = 0
  host.user = { ...user, email: 'own@x' }
  t.equal((await enter(way)).email, 'own@x')
  t.notOk(askedForAddress(host), 'who has an address of their own is not asked for others')
  host.user = { ...user, email: null }
  t.equal((await enter(client(host, kind, { scopes: ['read:org'] }))).email, undefined)
  t.notOk(askedForAddress(host), 'without the scope nobody is asked')
}

await t.test('a login at GitHub reads the verified primary address if the profile hides it', (t) =>
  addresses(t, 'github', { id: 7, login: 'alice' }),
)
await t.test('a login at Gitea reads the verified primary address if the profile hides it', (t) =>
  addresses(t, 'gitea', giteaUser),
)

await t.test('an identity is marked as incomplete if the code host has more memberships than are read', async (t) => {
  const host = await codehostStandIn(t)
  host.pageSize = 1
  for (const [count, reduced] of [
    [20, undefined],
    [21, true],
  ] as const) {
    host.organizations = Array.from({ length: count }, (_, n) => ({ login: `org-${n}` }))
    t.equal((await enter(client(host, 'github'))).reduced, reduced, String(count))
  }
  host.organizations = [{ login: 'a' }, { login: 'b' }]
  host.next = () => 'https://elsewhere.example/user/orgs'
  t.equal((await enter(client(host, 'github'))).reduced, true, 'a next page elsewhere is not read')
})
