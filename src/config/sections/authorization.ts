import { isClaim } from '../../access/claims.ts'
import { EVERYWHERE, isKey, readGrant } from '../../access/grants.ts'
import { isRight, RIGHTS } from '../../access/rights.ts'
import { NAME } from '../../access/roles.ts'
import { ITS_NAMESPACE, type RuledMethod } from '../../access/rules.ts'
import { counted, empty, list, map, record, variants } from '../collections.ts'
import { type SettingKind, setting } from '../setting.ts'
import { bool, kubernetesName, matching, oneOf, organization, text, textual } from '../types.ts'

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
  check: (written) => (isClaim(written) ? undefined : 'is not a JSON Pointer: ~ must be followed by 0 or 1'),
})
const team = matching(/^[^/\s*]+\/[^/\s*]+$/, 'must be organization/slug')
const right = textual('right', {
  check: (written) => (isRight(written) ? undefined : `unknown right "${written}"; known rights: ${RIGHTS.join(', ')}`),
})

const reasonPlace = textual('namespace', {
  check: (written) => (written === EVERYWHERE || isKey(written) ? undefined : 'must be the key of a namespace, or *'),
})

const rules = {
  oidc: record({ name, method: oneOf('oidc'), provider: text, claim, any_of: some(text), grants: grantsAt() }, {}),
  codehost: record(
    { name, method: oneOf('codehost'), grants: grantsAt() },
    { organizations: some(organization), teams: some(team) },
  ),
  orchestrator: record(
    {
      name,
      method: oneOf('orchestrator'),
      namespaces: some(kubernetesName),
      service_accounts: some(kubernetesName),
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

/** Settings under `authorization` (api.md §12.7). */
export const authorization = {
  rules: setting(
    { ...counted(list(rule), { most: MOST_RULES }), words: 'list of rules' },
    [],
    'Access rules `{name, method, …, grants}` for logins and exchanges, which get the grants of matching rules (`editor@shop`, `viewer@*`). Without rules and `unmatched` they have full access.',
  ),
  unmatched: setting(
    unmatched,
    undefined,
    'Result for logins and exchanges that match no rule: `refuse`, or grants. If set, access is controlled even without rules. Default: `refuse` if there are rules.',
  ),
  roles: setting(map(some(right)), empty, 'Custom roles: lists of rights by name.'),
  require_role: setting(bool, false, 'Refuse new static tokens without a role or grants.'),
  require_reason: setting(
    list(reasonPlace),
    [],
    'Namespaces in which every write needs the header `Event-Reason`. `*` stands for all namespaces and the deployment.',
  ),
} as const
