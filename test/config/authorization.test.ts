import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { accessPolicy } from '../../src/config/checks/access-rules.ts'
import { publicConfig } from '../../src/config/describe.ts'
import { type Loaded, loadConfig } from '../../src/config/load.ts'
import { isConfigError, type Problem } from '../../src/config/problem.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-authorization-'))
let files = 0
const written = (content: unknown): string => {
  const file = join(folder, `${++files}.json`)
  writeFileSync(file, JSON.stringify(content))
  return file
}
const loaded = (content: unknown, env: Readonly<Record<string, string>> = {}): Loaded =>
  loadConfig({ file: written(content), env })
const problems = (content: unknown): readonly Problem[] => {
  try {
    loaded(content)
    return []
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.problems
  }
}

const methods = {
  oidc: {
    enabled: true,
    providers: {
      corp: {
        issuer_url: 'https://id.example.com',
        client_id: 'a',
        client_secret: 'b',
        redirect_address: 'https://r.example.com',
      },
    },
  },
  codehost: {
    enabled: true,
    client_id: 'a',
    client_secret: 'b',
    redirect_address: 'https://r.example.com',
    scopes: ['read:org'],
  },
}
const tree = (authorization: unknown, authentication: object = {}) => ({
  authentication: { methods, ...authentication },
  authorization,
})
const oidc = {
  name: 'platform',
  method: 'oidc',
  provider: 'corp',
  claim: '/realm_access/roles',
  any_of: ['admins'],
  grants: ['admin@*'],
}
const codehost = { name: 'shop-team', method: 'codehost', teams: ['acme/shop'], grants: ['release@shop', 'viewer@*'] }
const orchestrator = {
  name: 'workloads',
  method: 'orchestrator',
  namespaces: ['*'],
  service_accounts: ['*'],
  grants: ['server@{namespace}'],
}
const roles = { release: ['flag.update', 'flag.read'] }
const whole = { rules: [oidc, codehost, orchestrator], roles, unmatched: ['client@*'], require_role: true }

await t.test('access rules are shown as they were written in the configuration', async (t) => {
  const { config, warnings } = loaded(tree(whole))
  const { rules, unmatched, requireRole, roles: all } = accessPolicy(config)
  t.strictSame(
    warnings.filter((line) => line.startsWith('authorization')),
    [],
  )
  t.strictSame(rules, [
    {
      name: 'platform',
      method: 'oidc',
      provider: 'corp',
      claim: '/realm_access/roles',
      anyOf: ['admins'],
      grants: [{ place: '*', role: 'admin' }],
    },
    {
      name: 'shop-team',
      method: 'codehost',
      organizations: [],
      teams: ['acme/shop'],
      grants: [
        { place: 'shop', role: 'release' },
        { place: '*', role: 'viewer' },
      ],
    },
    {
      name: 'workloads',
      method: 'orchestrator',
      namespaces: ['*'],
      serviceAccounts: ['*'],
      grants: [{ place: '{namespace}', role: 'server' }],
    },
  ])
  t.strictSame([unmatched, requireRole], [[{ place: '*', role: 'client' }], true])
  t.strictSame(
    all.map(({ name }) => name),
    ['client', 'server', 'viewer', 'editor', 'admin', 'auditor', 'release'],
  )
  t.strictSame(all.at(-1)?.rights, ['flag.read', 'flag.update'], 'in the order of all rights')
  const shown = publicConfig(config)
  t.match(shown['authorization'], whole)
  t.strictSame(accessPolicy(loaded(tree(shown['authorization'])).config), accessPolicy(config))
})

await t.test('access rules can be given as JSON in an environment variable', async (t) => {
  const { config } = loaded(tree({}), {
    ROLLCALL_AUTHORIZATION_RULES: JSON.stringify([oidc]),
    ROLLCALL_AUTHORIZATION_UNMATCHED: 'viewer@*, client@shop',
    ROLLCALL_AUTHORIZATION_ROLES: JSON.stringify(roles),
    ROLLCALL_AUTHORIZATION_REQUIRE_ROLE: 'true',
    ROLLCALL_RATE_LIMIT_CLIENT: '0',
  })
  t.strictSame(config.authorization.rules, [oidc])
  t.strictSame(config.authorization.unmatched, ['viewer@*', 'client@shop'])
  t.strictSame({ ...config.authorization.roles }, roles)
  t.equal(config.rate_limit.client, 0)
  const refused = loaded(tree({ unmatched: ['viewer@*'] }), { ROLLCALL_AUTHORIZATION_UNMATCHED: 'refuse' })
  t.equal(refused.config.authorization.unmatched, 'refuse')
})

await t.test('the default configuration has no access rules', async (t) => {
  const { config } = loaded({})
  t.match(accessPolicy(config), { rules: [], unmatched: undefined, requireRole: false })
  t.equal(config.rate_limit.client, 6000)
})

const R = 'authorization.rules'
const many = (count: number, item: (n: number) => unknown) => Array.from({ length: count }, (_, n) => item(n))
const bad: readonly (readonly [key: string, description: RegExp, authorization: object, authentication?: object])[] = [
  [`${R}[0].grants[1]`, /^unknown role "owner"$/, { rules: [{ ...oidc, grants: ['admin@*', 'owner@shop'] }] }],
  [`${R}[0].grants[0]`, /^unknown role "constructor"$/, { rules: [{ ...oidc, grants: ['constructor@shop'] }] }],
  [`${R}[0].grants[0]`, /^must be ROLE@PLACE/, { rules: [{ ...oidc, grants: ['admin'] }] }],
  [`${R}[0].grants[0]`, /is neither a namespace key nor \*$/, { rules: [{ ...oidc, grants: ['admin@{namespace}'] }] }],
  [`${R}[0].grants[0]`, /is neither a namespace key nor \*$/, { rules: [{ ...oidc, grants: ['admin@a b'] }] }],
  [`${R}[0].grants`, /^must not be empty$/, { rules: [{ ...oidc, grants: [] }] }],
  [`${R}[0].grants`, /at most 64/, { rules: [{ ...oidc, grants: many(65, (n) => `viewer@n${n}`) }] }],
  [R, /at most 200/, { rules: many(201, (n) => ({ ...oidc, name: `r${n}` })) }],
  [`${R}[1].name`, /is also the name of another rule$/, { rules: [oidc, { ...orchestrator, name: 'platform' }] }],
  [`${R}[0].name`, /^must match/, { rules: [{ ...oidc, name: 'Platform' }] }],
  [`${R}[0].provider`, /^is required$/, { rules: [{ ...oidc, provider: undefined }] }],
  [`${R}[0].provider`, /^provider "other" is not configured$/, { rules: [{ ...oidc, provider: 'other' }] }],
  [`${R}[0].claim`, /^is required$/, { rules: [{ ...oidc, claim: undefined }] }],
  [`${R}[0].claim`, /JSON Pointer/, { rules: [{ ...oidc, claim: '/a~2' }] }],
  [`${R}[0].any_of`, /^must not be empty$/, { rules: [{ ...oidc, any_of: [] }] }],
  [`${R}[0].any_of[0]`, /^expected text/, { rules: [{ ...oidc, any_of: [1] }] }],
  [`${R}[0].method`, /^is required$/, { rules: [{ ...oidc, method: undefined }] }],
  [`${R}[0].method`, /^must be one of "oidc", "codehost", "orchestrator"$/, { rules: [{ ...oidc, method: 'token' }] }],
  [`${R}[0].teams`, /^is not a setting$/, { rules: [{ ...oidc, teams: ['a/b'] }] }],
  [`${R}[0]`, /^needs organizations or teams/, { rules: [{ ...codehost, teams: undefined, grants: ['viewer@*'] }] }],
  [`${R}[0].teams[0]`, /^must be organization\/slug$/, { rules: [{ ...codehost, teams: ['shop'] }] }],
  [`${R}[0].organizations`, /^must not be empty$/, { rules: [{ ...codehost, organizations: [] }] }],
  [`${R}[0].namespaces`, /^must not be empty$/, { rules: [{ ...orchestrator, namespaces: [] }] }],
  [`${R}[0].service_accounts`, /^is required$/, { rules: [{ ...orchestrator, service_accounts: undefined }] }],
  [
    'authentication.methods.codehost.scopes',
    /^must contain read:org, because authorization.rules/,
    { rules: [codehost], roles },
    { methods: { ...methods, codehost: { ...methods.codehost, scopes: [] } } },
  ],
  [
    'authentication.methods.codehost.scopes',
    /^must contain read_api, because authorization.rules/,
    { rules: [{ ...codehost, teams: undefined, organizations: ['acme/shop'] }], roles },
    { methods: { ...methods, codehost: { ...methods.codehost, kind: 'gitlab' } } },
  ],
  [
    `${R}[0].teams`,
    /^has no effect on GitLab: list groups by their full path as organizations$/,
    { rules: [codehost], roles },
    { methods: { ...methods, codehost: { ...methods.codehost, kind: 'gitlab', scopes: ['read_api'] } } },
  ],
  ['authorization.unmatched[0]', /^unknown role "owner"$/, { unmatched: ['owner@*'] }],
  ['authorization.unmatched', /^must be "refuse" or a list of grants$/, { unmatched: 'accept' }],
  ['authorization.unmatched', /^must not be empty$/, { unmatched: [] }],
  ['authorization.roles.admin', /built-in/, { roles: { admin: ['flag.read'] } }],
  ['authorization.roles.Own', /^the name must match/, { roles: { Own: ['flag.read'] } }],
  ['authorization.roles.own', /^must not be empty$/, { roles: { own: [] } }],
  ['authorization.roles.own[1]', /^unknown right "flag.fly"/, { roles: { own: ['flag.read', 'flag.fly'] } }],
  ['authorization.roles.own[0]', /^unknown right "\*"/, { roles: { own: ['*'] } }],
  [R, /authentication.required is false$/, { rules: [oidc] }, { required: false }],
  ['authorization.roles', /authentication.required is false$/, { roles }, { required: false }],
  ['authorization.require_role', /authentication.required is false$/, { require_role: true }, { required: false }],
]
await t.test('each violated requirement of access rules is reported by key, and no other', async (t) => {
  for (const [key, description, authorization, authentication] of bad) {
    const found = problems(tree(authorization, authentication))
    t.strictSame(
      found.map((problem) => problem.key),
      [key],
      JSON.stringify(authorization).slice(0, 80),
    )
    t.match(found[0]?.description, description, key)
  }
})

await t.test('all problems of access rules are reported at once', async (t) => {
  const found = problems(
    tree({
      rules: [
        { ...oidc, grants: ['a@*', 'b@*'] },
        { ...oidc, provider: 'x' },
      ],
    }),
  )
  t.strictSame(
    found.map(({ key }) => key),
    [`${R}[0].grants[0]`, `${R}[0].grants[1]`, `${R}[1].name`, `${R}[1].provider`],
  )
  t.ok(
    found.every(({ place }) => place.includes('json')),
    'each with the place of its list',
  )
})

await t.test('a login method without rules causes a warning if other methods have rules', async (t) => {
  const warned = (authorization: object) =>
    loaded(tree(authorization)).warnings.filter((line) => line.startsWith('authorization'))
  t.strictSame(warned({}), [])
  t.strictSame(warned({ rules: [oidc] }), [
    'authorization.rules has no rule for the enabled method codehost: its logins are refused',
  ])
  const open = (what: string) => [
    `authorization.${what} is set, but authorization.rules is empty: logins by oidc, codehost have full access; set authorization.unmatched, or add a rule`,
  ]
  t.strictSame(warned({ require_role: true }), open('require_role'))
  t.strictSame(warned({ roles }), open('roles'))
  t.strictSame(warned({ roles, require_role: true, rules: [oidc, codehost] }), [])
  t.strictSame(warned({ roles, require_role: true, unmatched: 'refuse' }), [
    'authorization.rules has no rule for the enabled method oidc: its logins are refused',
    'authorization.rules has no rule for the enabled method codehost: its logins are refused',
  ])
  t.strictSame(warned({ rules: [orchestrator], unmatched: ['viewer@*'] }), [
    'authorization.rules has no rule for the enabled method oidc: its logins get the grants in authorization.unmatched',
    'authorization.rules has no rule for the enabled method codehost: its logins get the grants in authorization.unmatched',
  ])
})
