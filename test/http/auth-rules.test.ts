import t from 'tap'
import type { Started } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventsOf } from './events-of.ts'
import { bearer, begin, CODEHOST, comeBack, cookiesOf, logIn, OIDC, refusalOf, visit } from './people.ts'
import { exchange, group, lastIssued, lastOf, reachOf, reopenUnder, underRules } from './ruled.ts'

const noGrant = { status: 403, code: 7, reason: 'no_grant', message: 'permission denied' }
const no = 'right_missing'
const isRefused = ({ type }: { readonly type: string }) => type.startsWith('AuthenticationRefused')

const makeShop = ({ request }: Started) => request('POST', '/api/v1/namespaces', { key: 'shop', name: 'Shop' })

await t.test('a login gets the grants of the rules that match, and their names are recorded', async (t) => {
  const { service, liar } = await underRules(t, {
    rules: [
      group('writers', ['shop-devs', 'other'], 'editor@shop', 'viewer@*'),
      group('lookers', ['all'], 'viewer@*', 'auditor@*'),
      group('operators', ['root'], 'admin@*'),
    ],
  })
  await makeShop(service)
  liar.lies = { claims: { groups: ['shop-devs', 'all'] } }
  const { token } = await logIn(service, OIDC)
  t.same(await reachOf(service, token), {
    shop: { reads: 'yes', writes: 'yes' },
    other: { reads: 'yes', writes: no },
    tokens: 'yes',
  })
  t.match(await lastIssued(service), {
    method: 'oidc',
    policy: 0,
    grants: [
      { place: '*', role: 'viewer', rule: 'lookers' },
      { place: '*', role: 'auditor', rule: 'lookers' },
      { place: 'shop', role: 'editor', rule: 'writers' },
    ],
    roles: { viewer: ['flag.evaluate', 'flag.snapshot'], auditor: ['flag.evaluate'], editor: ['flag.evaluate'] },
  })
  t.notOk('admin' in ((await lastIssued(service))['roles'] as object), 'no role without a grant')

  liar.lies = { claims: { groups: 'root' } }
  const root = await logIn(service, OIDC)
  t.same((await reachOf(service, root.token)).tokens, 'yes', 'a claim may be a text of its own')
  t.equal((await service.request('POST', '/auth/v1/method/token', { name: 'x' }, bearer(root.token))).status, 200)
})

await t.test('a token of a login may always read and revoke itself', async (t) => {
  const { service, liar } = await underRules(t, { rules: [group('askers', ['all'], 'client@shop')] })
  liar.lies = { claims: { groups: ['all'] } }
  const { token, authentication } = await logIn(service, OIDC)
  t.match(token, /^rcs_/, 'that of a person is not to be published')
  const ask = (path: string) => service.request('GET', path, undefined, bearer(token))
  t.equal((await ask('/auth/v1/self')).status, 200)
  const rights = ['flag.evaluate']
  const { expiresAt: _, ...access } = (await ask('/auth/v1/access')).json
  t.strictSame(access, {
    authenticationId: authentication.id,
    full: false,
    publishable: false,
    places: [{ namespaceKey: 'shop', rights }],
    grants: [{ namespaceKey: 'shop', role: 'client', rights, rule: 'askers' }],
  })
  const check = async (search: string) => (await ask(`/auth/v1/access/check?${search}`)).json
  t.strictSame(await check('right=self.use'), {
    allowed: true,
    reason: 'granted',
    right: 'self.use',
    namespaceKey: '*',
  })
  const because = { grant: 0, namespaceKey: 'shop', role: 'client', rule: 'askers' }
  t.match(await check('right=flag.evaluate&namespaceKey=shop'), { allowed: true, because })
})

await t.test('a claim that is only a reference counts as absent, and its name is logged once a minute', async (t) => {
  const { service, liar } = await underRules(t, { rules: [group('devs', ['devs'], 'viewer@*')] })
  liar.lies = { claims: { groups: ['devs'], _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } } }
  for (let n = 0; n < 3; n++) t.match(refusalOf((await logIn(service, OIDC)).answer), noGrant)
  const warned = (await service.logged()).split('\n').filter((line) => line.includes('sends only a reference'))
  t.equal(warned.length, 1)
  t.match(JSON.parse(warned[0]!), { level: 'WARN', claim: 'groups', provider: 'main' })
})

await t.test('a login that no rule matches is refused after the e-mail rule, with a log line and metric', async (t) => {
  const clock = virtualClock(new Date().toISOString())
  const { service, liar } = await underRules(
    t,
    { rules: [group('devs', ['devs'], 'viewer@*')] },
    { 'authentication.methods.oidc.email_matches': '[".*@example\\\\.com"]' },
    { clock },
  )
  liar.lies = { claims: { email: 'alice@other.example', email_verified: true } }
  t.match(refusalOf((await logIn(service, OIDC)).answer), { status: 401, reason: 'email_not_allowed' })
  liar.lies = { claims: { email: 'alice@example.com', email_verified: true } }
  const { answer } = await logIn(service, OIDC)
  t.match(refusalOf(answer), noGrant)
  t.equal(cookiesOf(answer)['service_client_token'], undefined, 'no token')
  t.match(await lastOf(service, 'LoginRefused'), { reason: 'no_grant' })
  t.same(await eventsOf(service.directory, ({ data }) => data['method'] === 'oidc' && 'digest' in data), [])
  const page = await service.metrics()
  t.match(
    page,
    /rollcall_auth_decisions_total\{[^}]*result="refused"[^}]*reason="no_grant"[^}]*\} 1|reason="no_grant"[^}]*result="refused"[^}]*\} 1/,
  )

  const { authorizeUrl, cookie } = await begin(service, OIDC, '?return_to=/flags')
  const headers = { cookie, accept: 'text/html', 'x-request-id': 'seen' }
  const browser = await comeBack(service, OIDC, await visit(authorizeUrl), headers)
  t.equal(browser.status, 302)
  t.equal(browser.headers.location, '/login?error=no_grant&ref=seen&return_to=%2Fflags')
  const remembered = cookiesOf(browser)['service_client_state']!
  t.match(remembered.attributes, /Max-Age=300; Path=\/auth\/v1\/self\/session; .*HttpOnly; .*SameSite=Strict/)
  t.notOk('service_client_state' in cookiesOf(answer), 'a program receives only the reason')
  const sessionOf = async (cookie: string) =>
    (await service.request('GET', '/auth/v1/self/session', undefined, { authorization: '', cookie })).json
  const refused = { requestId: 'seen', email: 'alice@example.com' }
  clock.jump(299_999)
  t.match(await sessionOf(`service_client_state=${remembered.value}`), { authenticated: false, refused })
  for (const other of ['', 'service_client_state=', 'service_client_state=x', cookie])
    t.notOk('refused' in (await sessionOf(other)), other.slice(0, 30))
  clock.jump(1)
  t.notOk('refused' in (await sessionOf(`service_client_state=${remembered.value}`)), 'after five minutes')
  await service.close()
  const told = await eventsOf(service.directory, isRefused)
  t.ok(told.some(({ data }) => data['reason'] === 'no_grant' && data['provider'] === 'main'))
})

await t.test('"unmatched: refuse" without any rule refuses everyone', async (t) => {
  const { service } = await underRules(t, { unmatched: 'refuse' })
  for (const way of [OIDC, CODEHOST]) t.match(refusalOf((await logIn(service, way)).answer), noGrant)
  t.match(await lastOf(service, 'AccessConfigured'), { rules: [], unmatched: [] })
})

await t.test('a login that no rule matches gets the grants configured for it', async (t) => {
  const { service, host } = await underRules(t, {
    rules: [group('devs', ['devs'], 'admin@*')],
    unmatched: ['viewer@shop'],
  })
  await makeShop(service)
  for (const token of [(await logIn(service, OIDC)).token, (await logIn(service, CODEHOST)).token])
    t.same(await reachOf(service, token), {
      shop: { reads: 'yes', writes: no },
      other: { reads: no, writes: no },
      tokens: no,
    })
  t.ok(host.asked.length > 0)
  const { grants } = await lastIssued(service)
  t.same(grants, [{ place: 'shop', role: 'viewer' }])
})

await t.test('organizations and teams give grants, also if they are not in the list of allowed ones', async (t) => {
  const { service, host } = await underRules(
    t,
    {
      rules: [
        { name: 'acme', method: 'codehost', organizations: ['acme'], grants: ['viewer@*'] },
        { name: 'shop', method: 'codehost', teams: ['acme/shop', 'tools/core'], grants: ['editor@shop'] },
        { name: 'tools', method: 'codehost', organizations: ['tools'], grants: ['auditor@*'] },
      ],
    },
    { 'authentication.methods.codehost.allowed_organizations': 'acme' },
  )
  await makeShop(service)
  const ask = async (organizations: readonly string[], teams: readonly (readonly [string, string])[] = []) => {
    host.organizations = organizations.map((login) => ({ login }))
    host.teams = teams.map(([login, slug]) => ({ slug, organization: { login } }))
    return logIn(service, CODEHOST)
  }
  const rulesOf = async () => ((await lastIssued(service))['grants'] as { rule: string }[]).map(({ rule }) => rule)
  const member = await ask(['acme', 'private'])
  t.same(await rulesOf(), ['acme'])
  t.equal(member.authentication.metadata['io.service.auth.codehost.organizations'], '["acme"]')
  const team = await ask(
    ['acme'],
    [
      ['acme', 'shop'],
      ['acme', 'other'],
    ],
  )
  t.same(await rulesOf(), ['acme', 'shop'])
  t.same((await reachOf(service, team.token)).shop, { reads: 'yes', writes: 'yes' })
  const both = await ask(
    ['acme', 'tools', 'private'],
    [
      ['tools', 'core'],
      ['tools', 'secret'],
      ['private', 'x'],
    ],
  )
  t.same(await rulesOf(), ['acme', 'shop', 'tools'])
  t.equal(both.authentication.metadata['io.service.auth.codehost.organizations'], '["acme","tools"]')
  t.equal(both.authentication.metadata['io.service.auth.codehost.teams'], '{"tools":["core"]}', 'what rules ask for')
  t.match(refusalOf((await ask(['tools'], [['tools', 'core']])).answer), { status: 401, reason: 'membership_required' })
  t.match(refusalOf((await ask(['acme-not'])).answer), { status: 401, reason: 'membership_required' })
})

await t.test('service accounts get grants in the namespace with the name of their own', async (t) => {
  const all = ['shop', 'ops', 'a.b'].map((namespace) => ({ namespace, service_accounts: ['*'] }))
  const allowed = { 'authentication.methods.orchestrator.allowed': JSON.stringify(all) }
  const rules = [
    {
      name: 'own',
      method: 'orchestrator',
      namespaces: ['*'],
      service_accounts: ['web'],
      grants: ['editor@{namespace}'],
    },
    { name: 'ops', method: 'orchestrator', namespaces: ['ops'], service_accounts: ['*'], grants: ['viewer@*'] },
  ]
  const { service, cluster } = await underRules(t, { rules }, allowed)
  await makeShop(service)
  const web = await exchange(service, cluster, ['shop', 'web'])
  t.same(await reachOf(service, web.json.clientToken), {
    shop: { reads: 'yes', writes: 'yes' },
    other: { reads: no, writes: no },
    tokens: no,
  })
  t.match(await lastIssued(service), { policy: 0, grants: [{ place: 'shop', role: 'editor', rule: 'own' }] })
  await exchange(service, cluster, ['ops', 'web'])
  t.match((await lastIssued(service))['grants'], [{ rule: 'ops' }, { place: 'ops', rule: 'own' }])
  t.match(refusalOf(await exchange(service, cluster, ['a.b', 'web'])), noGrant, 'what can be no key is no place')
  t.match(refusalOf(await exchange(service, cluster, ['shop', 'api'])), noGrant)
  const notAllowed = { status: 403, reason: 'service_account_not_allowed' }
  for (const account of ['web', 'api'])
    t.match(refusalOf(await exchange(service, cluster, ['blog', account])), notAllowed, `${account}, before any rule`)
  await service.close()
  const told = await eventsOf(service.directory, isRefused)
  t.ok(told.some(({ data }) => data['reason'] === 'no_grant' && data['serviceAccount'] === 'shop/api'))
})

await t.test('a login whose rules give more grants than a token may have is refused and logged', async (t) => {
  const many = Array.from({ length: 5 }, (_, n) =>
    group(`r${n}`, ['all'], ...Array.from({ length: 60 }, (_, m) => `viewer@n${n}-${m}`)),
  )
  const { service, liar } = await underRules(t, { rules: many })
  liar.lies = { claims: { groups: ['all'] } }
  t.match(refusalOf((await logIn(service, OIDC)).answer), noGrant)
  t.match(await service.logged(), /"level":"WARN".*more than 256 grants/)
})

await t.test('without rules logins and token exchanges give full access', async (t) => {
  const { service, cluster } = await underRules(t, {})
  for (const issue of [
    async () => (await logIn(service, OIDC)).token,
    async () => (await logIn(service, CODEHOST)).token,
    async () => (await exchange(service, cluster)).json.clientToken,
  ]) {
    const token = await issue()
    const [event] = (await eventsOf(service.directory, ({ type }) => type.startsWith('TokenIssued'))).slice(-1)
    t.equal(event?.type, 'TokenIssued', 'an older version can read it')
    t.equal((await service.request('POST', '/auth/v1/method/token', { name: 'x' }, bearer(token))).status, 200)
  }
})

await t.test('rules work with thousands of groups, and it is logged that not all are stored', async (t) => {
  const { service, liar } = await underRules(t, {
    rules: [group('writers', ['group-4999'], 'editor@shop'), group('lookers', ['group-17'], 'viewer@*')],
  })
  await makeShop(service)
  const groups = Array.from({ length: 5000 }, (_, n) => `group-${n}`)
  liar.lies = { claims: { email: 'ada@example.com', groups } }
  const { token, authentication } = await logIn(service, OIDC)
  t.same(await reachOf(service, token), {
    shop: { reads: 'yes', writes: 'yes' },
    other: { reads: 'yes', writes: no },
    tokens: no,
  })
  const claims = JSON.parse(authentication.metadata['io.service.auth.claims']!) as Record<string, unknown>
  t.match(claims, { email: 'ada@example.com' })
  t.strictSame(claims['groups'], ['group-17', 'group-4999'], 'in the order of the provider')
  t.equal(
    (await service.logged()).match(/the provider sends more claims about a person than can be stored/g)?.length,
    1,
  )

  await reopenUnder(service, { rules: [group('writers', ['group-4999'], 'editor@shop')] })
  t.match(
    await reachOf(service, token),
    { shop: { writes: 'yes' }, other: { reads: no } },
    'later rules read what was kept',
  )
})
