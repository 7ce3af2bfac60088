import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { type Grant, readGrant } from '../../access/grants.ts'
import { isBuiltIn, NAME, rolesWith } from '../../access/roles.ts'
import {
  type AccessPolicy,
  ITS_NAMESPACE,
  isGoverned,
  type Rule,
  type RuledMethod,
  type RuleOf,
  type Subject,
  type SubjectOf,
} from '../../access/rules.ts'
import { codehostKinds } from '../../auth/codehost/kinds.ts'
import { admit } from '../../auth/codehost/membership.ts'
import { emailRule } from '../../auth/identity.ts'
import { isLoopback } from '../../auth/outgoing/hosts.ts'
import { causeRow } from '../../auth/refusal-details.ts'
import { isAllowed } from '../../auth/service-accounts/service-account.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import type { LoginKind } from '../../events/login.ts'
import { emailMatcher } from '../email.ts'
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

const hostOf = (url: string): string => new URL(url).hostname.toLowerCase()

/** Returns true if a host can set and receive cookies of a domain. */
const covers = (domain: string, host: string): boolean => host === domain || host.endsWith(`.${domain}`)

/** Returns true for a public suffix (publicsuffix.org). The list is loaded on demand, because loading takes 25 ms. */
const isPublicSuffix = (name: string): boolean => {
  const { getPublicSuffix } = createRequire(import.meta.url)('tldts') as typeof import('tldts')
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name
}

const domainFinding = (domain: string | undefined, host: string | undefined): string | false => {
  if (domain === undefined || domain === 'localhost') return false
  const name = domain.replace(/^\./, '').toLowerCase()
  if (isIP(name) !== 0) return name !== host && 'must be a domain name; without one the cookies are limited to the host'
  if (!name.includes('.')) return name !== host && 'must contain a dot: browsers reject cookies for domains without one'
  if (name !== host && isPublicSuffix(name))
    return 'is a public suffix, shared by unrelated domains: browsers reject cookies for it'
  return (
    host !== undefined &&
    !covers(name, host) &&
    'must be the host of server.public_url or a parent domain: browsers reject cookies for others'
  )
}

/** The redirect host must receive the cookie that the login set at its start. */
const returning = (key: string, address: string | undefined, { server, authentication }: Config): Finding => {
  const { public_url } = server
  if (address === undefined || public_url === undefined) return [key, false]
  const hosts = [address, public_url].map(hostOf)
  const domain = authentication.session.domain?.replace(/^\./, '').toLowerCase()
  const isShared = domain !== undefined && hosts.every((host) => covers(domain, host))
  return [
    key,
    new Set(hosts).size > 1 &&
      !isShared &&
      'must have the same host as server.public_url, or session.domain must be a parent domain of both hosts: otherwise browsers do not send the login cookie to this address',
  ]
}

/** A user certificate and its key must be set together. */
const certificate = (url: string | undefined): string | false => {
  const names = new Set(Array.from(new URLSearchParams(url?.split('?')[1] ?? '').keys(), (name) => name.toLowerCase()))
  const [cert, key] = ['usercertfile', 'userkeyfile'].map((name) => names.has(name))
  return (
    cert !== key &&
    `has ${cert ? 'userCertFile without userKeyFile' : 'userKeyFile without userCertFile'}: set both or neither`
  )
}

/** Problems of login addresses, of cookies, and of certificates in the event store address. */
export const loginFindings = (config: Config): readonly Finding[] => {
  const { server, authentication } = config
  const { session, methods } = authentication
  const host = server.public_url === undefined ? undefined : hostOf(server.public_url)
  const isPlain =
    server.public_url !== undefined && /^http:/i.test(server.public_url) && !isLoopback(new URL(server.public_url))
  const base = 'authentication.methods'
  const returns: Readonly<Record<LoginKind, readonly Finding[]>> = {
    oidc: Array.from(methods.oidc.providers, ([name, { redirect_address }]) =>
      returning(`${base}.oidc.providers.${name}.redirect_address`, redirect_address, config),
    ),
    codehost: [returning(`${base}.codehost.redirect_address`, methods.codehost.redirect_address, config)],
  }
  return [
    ['eventstore.url', certificate(config.eventstore.url)],
    ['authentication.session.domain', domainFinding(session.domain, host)],
    [
      'authentication.session.secure',
      session.secure && isPlain && 'is true, but server.public_url is http: browsers would drop the cookies',
    ],
    ...Object.values(returns).flat(),
  ]
}

type Refused = { readonly reason: string; readonly why: string }

type Methods = Config['authentication']['methods']

const refusals: {
  readonly [M in RuledMethod]: (subject: SubjectOf<M>, methods: Methods) => Refused | undefined
} = {
  oidc: ({ provider, claims }, { oidc }) => {
    if (oidc.email_matches.length === 0) return undefined
    const assumed = oidc.providers.get(provider)?.assume_email_verified
    const cause = emailRule(emailMatcher(oidc.email_matches), claims, assumed)
    return cause && causeRow(cause)
  },
  codehost: (subject, { codehost }) => {
    const { allowed_organizations: allowedOrganizations, allowed_teams: allowedTeams } = codehost
    const { barred } = admit(subject, { allowedOrganizations, allowedTeams }) as { readonly barred?: LoginCause }
    return barred && causeRow(barred)
  },
  orchestrator: ({ namespace, account: name }, { orchestrator }) => {
    const allowed = orchestrator.allowed.map(({ namespace, service_accounts }) => ({
      namespace,
      serviceAccounts: service_accounts,
    }))
    return isAllowed(allowed, { namespace, name })
      ? undefined
      : { reason: 'service_account_not_allowed', why: 'orchestrator.allowed does not list this service account' }
  },
}

/** Refusal of a login or an exchange before any rule applies; undefined if the settings of its method admit it. */
export const refusedBefore = ({ authentication: { methods } }: Config, subject: Subject): Refused | undefined =>
  (refusals[subject.method] as (subject: Subject, methods: Methods) => Refused | undefined)(subject, methods)
