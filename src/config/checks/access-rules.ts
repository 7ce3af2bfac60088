import { readGrant } from '../../access/grant-text.ts'
import type { Grant } from '../../access/grants.ts'
import { isBuiltIn, NAME, rolesWith } from '../../access/roles.ts'
import {
  type AccessPolicy,
  ITS_NAMESPACE,
  isGoverned,
  type Rule,
  type RuledMethod,
  type RuleOf,
} from '../../access/rules.ts'
import { codehostKinds } from '../../auth/codehost/kinds.ts'
import type { Finding } from '../problem.ts'
import type { Config } from '../settings.ts'

type Authorization = Config['authorization']
type Written = Authorization['rules'][number]

const RULES = 'authorization.rules'
const UNMATCHED = 'authorization.unmatched'
const ROLES = 'authorization.roles'

/** Problem of a rule or restriction that names teams on GitLab. */
export const NO_TEAMS = 'has no effect on GitLab: list groups by their full path as organizations'

const grantOf = (written: string): Grant => {
  const read = readGrant(written, [ITS_NAMESPACE])
  if ('wrong' in read) throw new Error(`${written} ${read.wrong}`)
  return read.grant
}

type WrittenOf<M extends RuledMethod> = Extract<Written, { readonly method: M }>

type Common = Pick<Rule, 'name' | 'grants'>

const rulesBy: { readonly [M in RuledMethod]: (written: WrittenOf<M>, common: Common) => RuleOf<M> } = {
  oidc: ({ method, provider, claim, any_of }, common) => ({ ...common, method, provider, claim, anyOf: any_of }),
  codehost: ({ method, organizations = [], teams = [] }, common) => ({ ...common, method, organizations, teams }),
  orchestrator: ({ method, namespaces, service_accounts }, common) => ({
    ...common,
    method,
    namespaces,
    serviceAccounts: service_accounts,
  }),
}
const RULED = Object.keys(rulesBy) as readonly RuledMethod[]

const ruleOf = (written: Written): Rule => {
  const { method, name, grants } = written
  return (rulesBy[method] as (written: Written, common: Common) => Rule)(written, { name, grants: grants.map(grantOf) })
}

/** Access policy of a configuration for logins, exchanges and new tokens. */
export const accessPolicy = ({ authentication, authorization }: Config): AccessPolicy => {
  const { rules, unmatched, roles, require_role } = authorization
  const { providers } = authentication.methods.oidc
  return {
    rules: rules.map(ruleOf),
    unmatched: typeof unmatched === 'object' ? unmatched.map(grantOf) : unmatched,
    assumeVerified: [...providers].flatMap(([name, { assume_email_verified }]) =>
      assume_email_verified ? [name] : [],
    ),
    roles: rolesWith(roles),
    requireRole: require_role,
  }
}

const unknownRoles = (
  { roles }: Authorization,
  key: string,
  grants: readonly string[],
  part: string,
): readonly Finding[] =>
  grants.map((written, n) => {
    const role = written.slice(0, written.indexOf('@'))
    const known = isBuiltIn(role) || Object.hasOwn(roles, role)
    return [key, !known && `unknown role "${role}"`, `${part}[${n}]`]
  })

type Check<R> = (rule: R, authentication: Config['authentication'], part: string) => readonly Finding[]

const findingsOf: { readonly [M in RuledMethod]: Check<WrittenOf<M>> } = {
  oidc: ({ provider }, { methods }, part) => [
    [RULES, !methods.oidc.providers.has(provider) && `provider "${provider}" is not configured`, `${part}.provider`],
  ],
  codehost: ({ organizations, teams }, { methods }, part) => [
    [RULES, teams !== undefined && methods.codehost.kind === 'gitlab' && NO_TEAMS, `${part}.teams`],
    [RULES, !organizations && !teams && 'needs organizations or teams to compare with a login', part],
  ],
  orchestrator: () => [],
}

const ofRule = ({ authentication, authorization }: Config, rule: Written, n: number): readonly Finding[] => {
  const firstWithName = authorization.rules.findIndex(({ name }) => name === rule.name)
  return [
    [RULES, firstWithName < n && `"${rule.name}" is also the name of another rule`, `[${n}].name`],
    ...unknownRoles(authorization, RULES, rule.grants, `[${n}].grants`),
    ...(findingsOf[rule.method] as Check<Written>)(rule, authentication, `[${n}]`),
  ]
}

const ofRole = (name: string): readonly Finding[] => [
  [ROLES, isBuiltIn(name) && 'is the name of a built-in role', `.${name}`],
  [ROLES, !NAME.test(name) && `the name must match ${NAME.source}`, `.${name}`],
]

/** Errors of rules and roles, and of the login methods that the rules require. */
export const accessErrors = (config: Config): readonly Finding[] => {
  const { authentication, authorization } = config
  const { rules, unmatched, roles, require_role } = authorization
  const { codehost } = authentication.methods
  const { membershipScope } = codehostKinds[codehost.kind]
  const asksCodehost = rules.some(({ method }) => method === 'codehost')
  const open = 'has no effect, because authentication.required is false'
  return [
    ...rules.flatMap((rule, n) => ofRule(config, rule, n)),
    ...unknownRoles(authorization, UNMATCHED, typeof unmatched === 'object' ? unmatched : [], ''),
    ...Object.keys(roles).flatMap(ofRole),
    [
      'authentication.methods.codehost.scopes',
      asksCodehost &&
        !codehost.scopes.includes(membershipScope) &&
        `must contain ${membershipScope}, because ${RULES} require organizations or teams`,
    ],
    [RULES, !authentication.required && rules.length > 0 && open],
    [ROLES, !authentication.required && Object.keys(roles).length > 0 && open],
    ['authorization.require_role', !authentication.required && require_role && open],
  ]
}

/**
 * Warnings about probable mistakes: an enabled method without rules while others have some, or access by role without
 * rules for logins.
 */
export const accessWarnings = ({ authentication, authorization }: Config): readonly Finding[] => {
  const { rules, unmatched, roles, require_role } = authorization
  const enabled = RULED.filter((method) => authentication.methods[method].enabled)
  const effect = typeof unmatched === 'object' ? `its logins get the grants in ${UNMATCHED}` : 'its logins are refused'
  const under = isGoverned(authorization)
  const byRole = Object.keys(roles).length > 0 ? ROLES : 'authorization.require_role'
  return [
    ...enabled.map(
      (method): Finding => [
        RULES,
        under &&
          !rules.some((rule) => rule.method === method) &&
          `has no rule for the enabled method ${method}: ${effect}`,
      ],
    ),
    [
      byRole,
      !under &&
        enabled.length > 0 &&
        (require_role || byRole === ROLES) &&
        `is set, but ${RULES} is empty: logins by ${enabled.join(', ')} have full access; set ${UNMATCHED}, or add a rule`,
    ],
  ]
}
