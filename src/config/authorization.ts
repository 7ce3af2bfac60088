import { isClaim } from '../access/claims.ts'
import { readGrant } from '../access/grant-text.ts'
import { isRight, RIGHTS } from '../access/rights.ts'
import { NAME } from '../access/roles.ts'
import { ITS_NAMESPACE, type RuledMethod } from '../access/rules.ts'
import { counted, empty, list, map, record, variants } from './collections.ts'
import { type SettingKind, setting } from './setting.ts'
import { bool, matching, oneOf, text, textual } from './types.ts'

const MOST_RULES = 200
const MOST_GRANTS = 64

const grantsAt = (...places: readonly string[]) =>
  counted(
    list(
      textual('grant', {
        check: (written) => {
          const read = readGrant(written, places)
          return 'wrong' in read ? read.wrong : undefined
        },
      }),
    ),
    { least: 1, most: MOST_GRANTS },
  )
const some = <T>(item: SettingKind<T>) => counted(list(item), { least: 1 })

const name = matching(NAME, `must match ${NAME.source}`)
const claim = textual('claim', {
  check: (written) => (isClaim(written) ? undefined : 'is no JSON Pointer: after ~ stands 0 or 1'),
})
const team = matching(/^[^/]+\/[^/]+$/, 'must be organization/slug')
const right = textual('right', {
  check: (written) => (isRight(written) ? undefined : `unknown right "${written}"; there are ${RIGHTS.join(', ')}`),
})

const rules = {
  oidc: record({ name, method: oneOf('oidc'), provider: text, claim, any_of: some(text), grants: grantsAt() }, {}),
  codehost: record(
    { name, method: oneOf('codehost'), grants: grantsAt() },
    { organizations: some(text), teams: some(team) },
  ),
  orchestrator: record(
    {
      name,
      method: oneOf('orchestrator'),
      namespaces: some(text),
      service_accounts: some(text),
      grants: grantsAt(ITS_NAMESPACE),
    },
    {},
  ),
} satisfies Readonly<Record<RuledMethod, SettingKind<object>>>
const rule = variants('method', rules)

const unmatchedGrants = grantsAt()
const unmatched: SettingKind<'refuse' | readonly string[]> = {
  words: 'refuse, or list of grants',
  read: (value, fault) => {
    if (value === 'refuse') return value
    return typeof value === 'string'
      ? fault('must be "refuse" or a list of grants')
      : unmatchedGrants.read(value, fault)
  },
  parse: (written) => (written.trim() === 'refuse' ? 'refuse' : unmatchedGrants.parse(written)),
  show: (value) => value,
  schema: { anyOf: [{ const: 'refuse' }, unmatchedGrants.schema] },
}

/** The settings under `authorization` (api.md §12.7). */
export const authorization = {
  rules: setting(
    { ...counted(list(rule), { most: MOST_RULES }), words: 'list of rules' },
    [],
    'What logins and exchanges may do, each rule `{name, method, …, grants}`: who matches one has its grants (`editor@shop`, `viewer@*`). Without any rule, and without `unmatched`, they may do everything.',
  ),
  unmatched: setting(
    unmatched,
    undefined,
    'What they get whom no rule matches: nothing (`refuse`), or grants. Where it is set they are under rules, though there be none; not set it is `refuse` once there is a rule.',
  ),
  roles: setting(map(some(right)), empty, 'Roles of your own: rights by name.'),
  require_role: setting(bool, false, 'Refuse to make a static token without role or grants.'),
} as const
