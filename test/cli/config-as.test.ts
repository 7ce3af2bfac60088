import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { authorityFile } from '../authority.ts'
import { root } from '../root.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-as-'))
let files = 0
const file = (content: unknown): string => {
  const path = join(folder, `${++files}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const authentication = {
  methods: {
    oidc: {
      providers: {
        corp: {
          issuer_url: 'https://id.example.com',
          client_id: 'a',
          client_secret: 'b',
          redirect_address: 'https://r.example.com',
        },
      },
    },
    codehost: { scopes: ['read:org'] },
  },
}
const rules = [
  { name: 'platform', method: 'oidc', provider: 'corp', claim: '/realm/roles', any_of: ['ops'], grants: ['admin@*'] },
  { name: 'shop-team', method: 'codehost', teams: ['acme/shop'], grants: ['release@shop', 'client@*'] },
  { name: 'acme', method: 'codehost', organizations: ['acme'], grants: ['client@*'] },
  {
    name: 'pods',
    method: 'orchestrator',
    namespaces: ['*'],
    service_accounts: ['web'],
    grants: ['server@{namespace}'],
  },
]
const roles = { release: ['flag.update', 'flag.read'] }
const config = file({ authentication, authorization: { rules, roles } })
const as = (who: unknown, with_ = config) => rollcall(['config', 'check', with_, '--as', file(who)])

await t.test('config check --as prints the rules that match a login, and their grants', async (t) => {
  const admin = await as({ method: 'oidc', provider: 'corp', claims: { realm: { roles: ['dev', 'ops'] } } })
  t.strictSame(admin, {
    exit: 0,
    out: 'GRANT    RULE      RIGHTS\nadmin@*  platform  *\n',
    err: '1 of 4 rules: platform.\n',
  })
  const member = await as({ method: 'codehost', organizations: ['acme'], teams: { acme: ['shop'] } })
  t.equal(member.exit, 0)
  t.equal(member.err, '2 of 4 rules: acme, shop-team.\n')
  t.strictSame(
    member.out.split('\n').map((line) => line.split(/ {2,}/)),
    [
      ['GRANT', 'RULE', 'RIGHTS'],
      ['client@*', 'acme', 'flag.evaluate'],
      ['release@shop', 'shop-team', 'flag.read flag.update'],
      [''],
    ],
  )
  const pod = await as({ method: 'orchestrator', namespace: 'shop', service_account: 'web' })
  t.match(pod, { exit: 0, out: /^server@shop +pods +flag\.evaluate flag\.snapshot self\.use$/m })
})

await t.test('config check --as exits with 3 for a login without grants', async (t) => {
  for (const who of [
    { method: 'oidc', provider: 'other', claims: { realm: { roles: ['ops'] } } },
    { method: 'codehost' },
    { method: 'orchestrator', namespace: 'shop', service_account: 'worker' },
  ])
    t.strictSame(await as(who), {
      exit: 3,
      out: '',
      err: 'None of 4 rules matches.\nRefused: no matching rule gives a grant (no_grant).\n',
    })
  const referenced = await as({ method: 'oidc', provider: 'corp', claims: { _claim_names: { realm: 'src1' } } })
  t.match(referenced, {
    exit: 3,
    err: /warning: the provider sends a reference instead of the claim \/realm\/roles/,
  })
})

await t.test('config check --as refuses a login whose rules grant more than the limit', async (t) => {
  const many = Array.from({ length: 5 }, (_, n) => ({
    ...rules[2],
    name: `r${n}`,
    grants: Array.from({ length: 60 }, (_, m) => `client@n${n}-${m}`),
  }))
  t.match(
    await as({ method: 'codehost', organizations: ['acme'] }, file({ authentication, authorization: { rules: many } })),
    {
      exit: 3,
      out: '',
      err: /Refused: more grants than a login may have \(no_grant\)\./,
    },
  )
})

await t.test('a login that no rule matches gets the grants of "unmatched"; without rules it gets all', async (t) => {
  const open = file({ authentication, authorization: { rules, roles, unmatched: ['client@shop'] } })
  t.match(await as({ method: 'codehost' }, open), { exit: 0, out: /^client@shop +unmatched +flag\.evaluate$/m })
  t.match(await as({ method: 'codehost' }, file({})), { exit: 0, out: '', err: /^No access rule is configured/ })
  const refusing = file({ authentication, authorization: { unmatched: 'refuse' } })
  t.match(await as({ method: 'codehost' }, refusing), { exit: 3, out: '', err: /None of 0 rules matches\.\nRefused/ })
})

await t.test('the missing parts of an invalid login file are reported', async (t) => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    ['{', /is not JSON/],
    [[], /document: expected a map, got a list[^]*Examples:/],
    [{ claims: {} }, /method: is required/],
    [{ method: 'token' }, /method: must be one of/],
    [{ method: 'oidc', provider: 'corp' }, /claims: is required/],
    [{ method: 'codehost', teams: ['acme/shop'] }, /teams: expected a map, got a list/],
    [{ method: 'orchestrator', namespace: 'a', service_account: 1 }, /service_account: expected text/],
  ]
  for (const [who, said] of wrong) t.match(await as(who), { exit: 2, out: '', err: said }, JSON.stringify(who))
  t.match(await rollcall(['config', 'check', config, '--as', join(folder, 'none')]), { exit: 2, err: /ENOENT/ })
  const faulty = file({ authorization: { rules } })
  t.match(await as({ method: 'codehost' }, faulty), { exit: 3, out: /^authorization\.rules\[0\]\.provider: /m })
})

await t.test('the start warns about grants in namespaces that do not exist', async (t) => {
  const service = await startService(t, {
    'authorization.rules': JSON.stringify([{ ...rules[2], grants: ['viewer@default', 'editor@shop', 'viewer@*'] }]),
    'authorization.unmatched': 'client@blog',
    'authentication.methods.codehost.scopes': 'read:org',
  })
  const told = (await service.logged()).split('\n').filter((line) => line.includes('which does not exist'))
  t.equal(told.length, 2)
  t.match(told[0], /"level":"WARN".*rule \\"acme\\" grants in namespace \\"shop\\"/)
  t.match(told[1], /authorization\.unmatched grants in namespace \\"blog\\"/)
})

await t.test('config check --as checks address, organization and account first, as a login does', async (t) => {
  const restricted = file({
    authentication: {
      methods: {
        ...authentication.methods,
        oidc: { ...authentication.methods.oidc, email_matches: ['.*@example\\.com'] },
        codehost: { scopes: ['read:org'], allowed_organizations: ['Acme'] },
        orchestrator: { allowed: [{ namespace: 'shop', service_accounts: ['*'] }] },
      },
    },
  })
  const ofOidc = (claims: object) => ({ method: 'oidc', provider: 'corp', claims })
  const rows: readonly (readonly [who: object, err: RegExp])[] = [
    [ofOidc({ email: 'ada@example.com', email_verified: true }), /^No access rule is configured/],
    [ofOidc({}), /^Refused: .*no e-mail address.*\(email_not_allowed\)/],
    [ofOidc({ email: 'ada@example.com' }), /^Refused: .*does not state.*\(email_not_allowed\)/],
    [ofOidc({ email: 'ada@example.com', email_verified: 0 }), /^Refused: .*not verified.*\(email_not_allowed\)/],
    [
      ofOidc({ email: 'ada@other.example', email_verified: true }),
      /^Refused: .*matches none of email_matches.*\(email_not_allowed\)/,
    ],
    [{ method: 'codehost', organizations: ['acme'] }, /^No access rule is configured/],
    [{ method: 'codehost', organizations: ['other'] }, /^Refused: .*\(membership_required\)/],
    [{ method: 'codehost' }, /^Refused: .*\(membership_required\)/],
    [{ method: 'orchestrator', namespace: 'shop', service_account: 'web' }, /^No access rule is configured/],
    [{ method: 'orchestrator', namespace: 'else', service_account: 'web' }, /\(service_account_not_allowed\)/],
  ]
  for (const [who, err] of rows) {
    const { exit, err: told } = await as(who, restricted)
    t.match(told, err, JSON.stringify(who))
    t.equal(exit, told.startsWith('Refused') ? 3 : 0)
  }
})

await t.test('the examples of the guide to access have the results that it shows', async (t) => {
  const guide = readFileSync(join(root, 'docs/guides/access.md'), 'utf8')
  const [, own = ''] = /^```yaml\n(server:\n[^]*?)^```$/m.exec(guide) ?? []
  const [, login = '', shown = ''] = /^```json\n([^]*?)^```\n\n```\n([^]*?)^```$/m.exec(guide) ?? []
  const config = join(folder, 'guide.yml')
  writeFileSync(config, own)
  const env = { ROLLCALL_AUTHENTICATION_METHODS_ORCHESTRATOR_CA_PATH: authorityFile }
  const check = async (content: string) => {
    const { exit, out, err } = await rollcall(['config', 'check', config, '--as', file(content)], env)
    return { exit, text: `${err}${out}` }
  }
  t.strictSame(await check(login), { exit: 0, text: shown })
  const others = [...guide.matchAll(/`(\{"method": [^`]*\})`/g)].map(([, content]) => content!)
  t.equal(others.length, 2)
  const [codehost, account] = await Promise.all(others.map(check))
  t.match(codehost, { exit: 0, text: /author@shop +shop-team/ })
  t.match(account, { exit: 0, text: /server@shop +workloads/ })
})
