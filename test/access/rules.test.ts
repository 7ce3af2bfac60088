import * as fc from 'fast-check'
import t from 'tap'
import { isClaim, textsOf } from '../../src/access/claims.ts'
import type { Grant } from '../../src/access/grants.ts'
import { readGrant, readRights } from '../../src/access/grants.ts'
import { rolesWith } from '../../src/access/roles.ts'
import {
  type AccessPolicy,
  grantsFor,
  matchingRules,
  type Rule,
  referencedClaims,
  type Subject,
} from '../../src/access/rules.ts'

const at = (text: string): Grant => {
  const read = readGrant(text, ['{namespace}'])
  if ('wrong' in read) throw new Error(read.wrong)
  return read.grant
}
const grants = (...texts: readonly string[]) => texts.map(at)
const policy = (rules: readonly Rule[], unmatched?: AccessPolicy['unmatched']) => ({
  rules,
  unmatched,
  assumeVerified: [] as readonly string[],
  roles: rolesWith({ release: ['flag.update', 'flag.read'] }),
})
const platform: Rule = {
  name: 'platform',
  method: 'oidc',
  provider: 'corp',
  claim: 'groups',
  anyOf: ['platform-admins'],
  grants: grants('admin@*'),
}
const shop: Rule = {
  name: 'shop-team',
  method: 'codehost',
  organizations: [],
  teams: ['acme/shop'],
  grants: grants('editor@shop', 'viewer@*'),
}
const workloads: Rule = {
  name: 'workloads',
  method: 'orchestrator',
  namespaces: ['*'],
  serviceAccounts: ['*'],
  grants: grants('server@{namespace}'),
}
const login = (claims: Readonly<Record<string, unknown>>, provider = 'corp'): Subject => ({
  method: 'oidc',
  provider,
  claims,
})
const member = (organizations: readonly string[], teams = {}): Subject => ({ method: 'codehost', organizations, teams })
const account = (namespace: string, name = 'app'): Subject => ({ method: 'orchestrator', namespace, account: name })
const texts = (rules: readonly Rule[], subject: Subject, unmatched?: AccessPolicy['unmatched']) => {
  const given = grantsFor(policy(rules, unmatched), subject)
  if ('refused' in given) return given.refused
  return given.holding.grants?.map(({ place, role, rule }) => `${role}@${place} by ${rule}`)
}

await t.test('a login has full access if no access rules are configured', async (t) => {
  for (const subject of [login({}), member([]), account('shop')])
    t.strictSame(grantsFor(policy([]), subject), { holding: {} })
})

await t.test('a login that no rule matches gets the grants of "unmatched", even without any rule', async (t) => {
  for (const subject of [login({}), member([]), account('shop')]) {
    t.equal(texts([], subject, 'refuse'), 'nothing')
    t.strictSame(texts([], subject, grants('viewer@*')), ['viewer@* by undefined'])
  }
})

await t.test('as soon as one access rule exists, it limits all logins and token exchanges', async (t) => {
  const rules = [platform, shop, workloads]
  t.strictSame(texts(rules, login({ groups: ['a', 'platform-admins'] })), ['admin@* by platform'])
  t.equal(texts(rules, login({ groups: ['a'] })), 'nothing')
  t.equal(texts(rules, login({ groups: ['platform-admins'] }, 'other')), 'nothing')
  t.strictSame(texts(rules, member([], { acme: ['shop'] })), ['editor@shop by shop-team', 'viewer@* by shop-team'])
  t.equal(texts(rules, member(['acme'], { acme: ['shops'], other: ['shop'] })), 'nothing')
  t.strictSame(texts(rules, account('checkout')), ['server@checkout by workloads'])
  t.equal(texts([platform], account('checkout')), 'nothing')
  t.strictSame(texts([platform], account('checkout'), grants('client@*')), ['client@* by undefined'])
  t.strictSame(texts([platform], login({ groups: 'platform-admins' }), grants('client@*')), ['admin@* by platform'])
})

await t.test('a token stores only the rights of the roles that its grants name', async (t) => {
  const given = grantsFor(
    policy([{ ...shop, grants: grants('release@shop', 'client@*') }]),
    member([], { acme: ['shop'] }),
  )
  t.match(given, { holding: { roles: { release: ['flag.read', 'flag.update'], client: ['flag.evaluate'] } } })
  t.strictSame('holding' in given && Object.keys(given.holding.roles ?? {}), ['release', 'client'])
})

await t.test('an access rule matches service accounts by namespace and name', async (t) => {
  const rule = { ...workloads, namespaces: ['shop', 'blog'], serviceAccounts: ['app'] }
  for (const [subject, matched] of [
    [account('shop'), true],
    [account('blog'), true],
    [account('shop', 'other'), false],
    [account('other'), false],
    [account('*'), false],
  ] as const)
    t.equal(matchingRules(policy([rule]), subject).length, matched ? 1 : 0, JSON.stringify(subject))
})

await t.test("a rule grants nothing if the login's value for the namespace is not a valid namespace key", async (t) => {
  for (const namespace of ['*', '', 'a b', 'a/b', '{namespace}', 'a@*'])
    t.equal(texts([workloads], account(namespace)), 'nothing', namespace)
  t.equal(
    texts([{ ...platform, grants: grants('server@{namespace}') }], login({ groups: ['platform-admins'] })),
    'nothing',
  )
})

await t.test('an access rule finds a claim by its name or by a JSON Pointer', async (t) => {
  const claims = {
    groups: ['a', 1, null, ['b'], 'c'],
    'a/b': 'slash',
    'm~n': 'tilde',
    '/top': 'never by name',
    '': { '': 'empty' },
    realm_access: { roles: ['r1', 'r2'], list: [{ name: 'x' }, { name: 'y' }] },
    admin: true,
  }
  const found: readonly (readonly [string, readonly string[]])[] = [
    ['groups', ['a', 'c']],
    ['/groups', ['a', 'c']],
    ['/groups/0', ['a']],
    ['/groups/00', []],
    ['/groups/-', []],
    ['/groups/length', []],
    ['a/b', ['slash']],
    ['/a~1b', ['slash']],
    ['/m~0n', ['tilde']],
    ['/', []],
    ['//', ['empty']],
    ['/realm_access/roles', ['r1', 'r2']],
    ['/realm_access/list/1/name', ['y']],
    ['/realm_access/roles/0/length', []],
    ['/top', []],
    ['realm_access', []],
    ['admin', []],
    ['constructor', []],
    ['/constructor/name', []],
    ['nothing', []],
  ]
  for (const [claim, expected] of found) t.strictSame(textsOf(claims, claim), expected, claim)
  t.ok(isClaim('/a~0~1') && isClaim('~2'))
  t.notOk(isClaim('') || isClaim('/a~2') || isClaim('/a~'))
})

await t.test('an access rule never matches an e-mail address that the provider has not verified', async (t) => {
  const rule: Rule = { ...platform, claim: 'email', anyOf: ['a@example.com'] }
  const given = (email_verified: unknown, claim = 'email') =>
    matchingRules(policy([{ ...rule, claim }]), login({ email: 'a@example.com', email_verified })).length
  for (const [verified, matched] of [
    [true, 1],
    ['true', 1],
    [undefined, 0],
    [null, 0],
    [false, 0],
    ['false', 0],
    ['False', 0],
    ['TRUE', 0],
    [' true', 0],
    ['no', 0],
    [0, 0],
    [1, 0],
    [[true], 0],
    [[false], 0],
    [{}, 0],
  ] as const)
    for (const claim of ['email', '/email'])
      t.equal(given(verified, claim), matched, `${claim} ${JSON.stringify(verified)}`)
  t.equal(matchingRules(policy([rule]), login({ email: 'A@example.com', email_verified: true })).length, 0, 'exactly')
  const assuming = { ...policy([rule]), assumeVerified: [platform.provider] }
  const assumed = (claims: object) => matchingRules(assuming, login({ email: 'a@example.com', ...claims })).length
  t.equal(assumed({}), 1, 'absence counts where the operator says so')
  for (const email_verified of [false, 'false', null, 0, 'no']) t.equal(assumed({ email_verified }), 0)
  t.equal(matchingRules({ ...assuming, assumeVerified: ['other'] }, login({ email: 'a@example.com' })).length, 0)
})

await t.test('a claim for which the provider sent only a reference counts as absent and is reported', async (t) => {
  const claims = { groups: ['platform-admins'], _claim_names: { groups: 'src1', other: 'src1' } }
  t.equal(texts([platform], login(claims)), 'nothing')
  const rules: readonly Rule[] = [platform, { ...platform, claim: '/groups/0' }, { ...platform, claim: 'mine' }, shop]
  t.strictSame(referencedClaims(rules, login(claims)), ['groups', '/groups/0'])
  t.strictSame(referencedClaims(rules, login(claims, 'other')), [])
  t.strictSame(referencedClaims(rules, login({ groups: [] })), [])
  t.strictSame(referencedClaims(rules, account('a')), [])
})

await t.test('the order of rules has no effect, equal grants are merged, and their number is limited', async (t) => {
  const rules: readonly Rule[] = ['c', 'a', 'b', 'd'].map((name, n) => ({
    ...workloads,
    name,
    grants: grants('viewer@*', `editor@n${n % 2}`),
  }))
  const first = texts(rules, account('x'))
  t.strictSame(first, ['viewer@* by a', 'editor@n1 by a', 'editor@n0 by b'])
  fc.assert(
    fc.property(fc.shuffledSubarray([...rules], { minLength: 4 }), (shuffled) => {
      t.strictSame(texts(shuffled, account('x')), first)
    }),
    { numRuns: 50 },
  )
  const many = (count: number): readonly Rule[] =>
    Array.from({ length: count }, (_, n) => ({ ...workloads, name: `r${n}`, grants: grants(`viewer@n${n}`) }))
  t.equal(texts(many(256), account('x'))?.length, 256)
  t.equal(texts(many(257), account('x')), 'too_many')
})

await t.test('the text of a grant is parsed, and errors in it are reported', async (t) => {
  t.strictSame(readGrant('editor@shop'), { grant: { place: 'shop', role: 'editor' } })
  t.strictSame(readGrant('viewer@*'), { grant: { place: '*', role: 'viewer' } })
  t.strictSame(readGrant('viewer@a,b'), { grant: { place: 'a,b', role: 'viewer' } })
  t.match(readGrant('server@{namespace}'), { wrong: '"{namespace}" is neither a namespace key nor *' })
  for (const text of ['', 'editor', '@shop']) t.match(readGrant(text), { wrong: /^must be ROLE@PLACE/ }, text)
  t.match(readGrant('editor@'), { wrong: /^has no namespace/ })
  for (const text of ['editor@a b', 'editor@shop@blog', 'editor@**'])
    t.match(readGrant(text), { wrong: /is neither a namespace key/ })
  t.strictSame(readRights('flag.read, flag.update,flag.read@shop'), {
    grant: { place: 'shop', rights: ['flag.read', 'flag.update'] },
  })
  t.match(readRights('flag.fly@shop'), { wrong: /^unknown right "flag.fly"; known rights: flag.evaluate, / })
  t.match(readRights('*@shop'), { wrong: /^unknown right "\*"/ })
  t.match(readRights('flag.read'), { wrong: /^must be RIGHT,RIGHT@PLACE/ })
})

await t.test('rules ignore upper and lower case only in user names of a code host and in e-mail domains', async (t) => {
  const rule = (given: Partial<Rule>) => [{ name: 'r', grants: grants('viewer@*'), ...given } as Rule]
  const byHost = (given: object, subject: Subject) =>
    texts(rule({ method: 'codehost', organizations: [], teams: [], ...given }), subject)
  const yes = ['viewer@* by r']
  t.strictSame(byHost({ organizations: ['Acme'] }, member(['aCME'])), yes)
  t.strictSame(byHost({ teams: ['ACME/Shop'] }, member(['acme'], { Acme: ['shop'] })), yes)
  t.equal(byHost({ organizations: ['kay'] }, member(['\u212aay'])), 'nothing', 'only ASCII is folded')
  const byClaim = (claim: string, anyOf: string, claims: object) =>
    texts(rule({ method: 'oidc', provider: 'corp', claim, anyOf: [anyOf] }), login({ email_verified: true, ...claims }))
  t.strictSame(byClaim('email', 'Ada@Example.com', { email: 'Ada@EXAMPLE.COM' }), yes)
  t.equal(byClaim('email', 'ada@example.com', { email: 'Ada@example.com' }), 'nothing', 'in front of the @ it does')
  t.equal(byClaim('groups', 'Devs', { groups: ['devs'] }), 'nothing')
  t.equal(byClaim('hd', 'Example.com', { hd: 'example.com' }), 'nothing')
  t.equal(texts([{ ...workloads, namespaces: ['Shop'] }], account('shop')), 'nothing', 'nor in namespaces of a cluster')
})

await t.test('no rule matches a text with a control character', (t) => {
  const grants = [{ place: '*', role: 'viewer' }]
  const rules: readonly Rule[] = [
    { name: 'a', method: 'oidc', provider: 'p', claim: 'groups', anyOf: ['ops', 'ops\0'], grants },
    { name: 'b', method: 'codehost', organizations: ['ops\u202e'], teams: ['ops/a\0'], grants },
    { name: 'c', method: 'orchestrator', namespaces: ['*'], serviceAccounts: ['*'], grants },
  ]
  const subjects: readonly (readonly [plain: boolean, Subject])[] = [
    [true, { method: 'oidc', provider: 'p', claims: { groups: ['ops'] } }],
    [false, { method: 'oidc', provider: 'p', claims: { groups: ['ops\0'] } }],
    [false, { method: 'codehost', organizations: ['ops\u202e'], teams: { ops: ['a\0'] } }],
    [true, { method: 'orchestrator', namespace: 'n', account: 'a' }],
    [false, { method: 'orchestrator', namespace: 'n\n', account: 'a' }],
    [false, { method: 'orchestrator', namespace: 'n', account: 'a\u0085' }],
  ]
  for (const [plain, subject] of subjects)
    t.equal(matchingRules({ rules, assumeVerified: [] }, subject).length, plain ? 1 : 0, JSON.stringify(subject))
  t.end()
})
