import { isPrintable } from '../base/control-characters.ts'
import { type Claims, isReferenced, lackOf, textsOf } from './claims.ts'
import { type Grant, type Holding, isKey, meaningsIn, meaningsOf } from './grants.ts'
import type { Role } from './roles.ts'

/**
 * Converts the name of an organization or team to lower case for comparison. Only ASCII letters are converted, so that
 * no other letter becomes equal to one of them.
 */
const foldName = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * Converts the domain of an e-mail address to lower case (RFC 5321 §2.4). The part before the last `@` stays unchanged.
 */
export const foldDomain = (address: string): string => {
  const domain = address.lastIndexOf('@') + 1
  return domain === 0 ? address : address.slice(0, domain) + foldName(address.slice(domain))
}

/** Returns true if the list contains the name, regardless of case. No list contains a name with a control character. */
export const listsName = (list: readonly string[], name: string): boolean =>
  isPrintable(name) && list.map(foldName).includes(foldName(name))

/** Team names in the form of rules: `organization/slug`. */
export const teamNames = (teams: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  Object.entries(teams).flatMap(([organization, slugs]) => slugs.map((slug) => `${organization}/${slug}`))

/** Text in a grant that stands for the namespace of the service account. */
export const ITS_NAMESPACE = '{namespace}'
/** Maximum number of grants of a login or an exchange. */
export const MAX_GRANTS = 256

type Named = { readonly name: string; readonly grants: readonly Grant[] }
type OidcRule = Named & {
  readonly method: 'oidc'
  readonly provider: string
  /** Name of a claim, or a JSON Pointer to one. */
  readonly claim: string
  readonly anyOf: readonly string[]
}
type CodehostRule = Named & {
  readonly method: 'codehost'
  readonly organizations: readonly string[]
  /** `organization/slug` */
  readonly teams: readonly string[]
}
type OrchestratorRule = Named & {
  readonly method: 'orchestrator'
  readonly namespaces: readonly string[]
  readonly serviceAccounts: readonly string[]
}
/** Condition for the person or account according to the provider, and the resulting grants. */
export type Rule = OidcRule | CodehostRule | OrchestratorRule

/** Access configuration of a deployment. */
export type AccessPolicy = {
  readonly rules: readonly Rule[]
  /**
   * Grants for a login that no rule matches. If undefined, such a login has no rights if rules exist, and all rights
   * otherwise.
   */
  readonly unmatched: 'refuse' | readonly Grant[] | undefined
  /** Providers that send no `email_verified`, and whose e-mail addresses count as verified. */
  readonly assumeVerified: readonly string[]
  /** Built-in and own roles. */
  readonly roles: readonly Role[]
  /** True if a new static token must have a role or grants. */
  readonly requireRole: boolean
}

/** Person or account of a login or an exchange, in the form for rules. */
export type Subject =
  | { readonly method: 'oidc'; readonly provider: string; readonly claims: Claims }
  | {
      readonly method: 'codehost'
      readonly organizations: readonly string[]
      readonly teams: Readonly<Record<string, readonly string[]>>
    }
  | { readonly method: 'orchestrator'; readonly namespace: string; readonly account: string }

/** Method of a login or exchange. */
export type RuledMethod = Subject['method']
export type RuleOf<M extends RuledMethod> = Extract<Rule, { readonly method: M }>
export type SubjectOf<M extends RuledMethod> = Extract<Subject, { readonly method: M }>

/** Result of the rules: the access, or a refusal because it is empty or exceeds the limit. */
type GrantedAccess = { readonly holding: Holding } | { readonly refused: 'nothing' | 'too_many' }

/** Returns true if rules apply to logins and exchanges: a rule exists, or `unmatched` is configured. */
export const isGoverned = ({
  rules,
  unmatched,
}: {
  readonly rules: readonly unknown[]
  readonly unmatched?: unknown
}): boolean => rules.length > 0 || unmatched !== undefined

const covers = (listed: readonly string[], name: string): boolean =>
  isPrintable(name) && (listed.includes('*') || listed.includes(name))

/** Normalizes a text of a claim for comparison. The domain of an e-mail address is case-insensitive. */
const compared = (claim: string): ((text: string) => string) => (claim === 'email' ? foldDomain : (text) => text)

/** Whether a rule matches a subject of its method. */
const matchers: {
  readonly [M in RuledMethod]: (rule: RuleOf<M>, subject: SubjectOf<M>, assumeVerified: readonly string[]) => boolean
} = {
  oidc: ({ provider, claim, anyOf }, subject, assumeVerified) => {
    if (provider !== subject.provider) return false
    const wanted = anyOf.map(compared(claim))
    return textsOf(subject.claims, claim, assumeVerified.includes(provider))
      .map(compared(claim))
      .some((text) => wanted.includes(text))
  },
  codehost: ({ organizations, teams }, subject) =>
    organizations.some((name) => listsName(subject.organizations, name)) ||
    teams.some((team) => listsName(teamNames(subject.teams), team)),
  orchestrator: ({ namespaces, serviceAccounts }, { namespace, account }) =>
    covers(namespaces, namespace) && covers(serviceAccounts, account),
}

type Matcher = (rule: Rule, subject: Subject, assumeVerified: readonly string[]) => boolean

const matches: Matcher = (rule, subject, assumeVerified) =>
  rule.method === subject.method && (matchers[rule.method] as Matcher)(rule, subject, assumeVerified)

/** Matching rules by name. The order of rules in the configuration does not count. */
export const matchingRules = (
  { rules, assumeVerified }: Pick<AccessPolicy, 'rules' | 'assumeVerified'>,
  subject: Subject,
): readonly Rule[] =>
  rules.filter((rule) => matches(rule, subject, assumeVerified)).sort((a, b) => (a.name < b.name ? -1 : 1))

/** Replaces `{namespace}` with the namespace of the account. The grant is omitted if the name is not a valid key. */
const placed = (grant: Grant, subject: Subject): readonly Grant[] => {
  if (grant.place !== ITS_NAMESPACE) return [grant]
  return subject.method === 'orchestrator' && isKey(subject.namespace) ? [{ ...grant, place: subject.namespace }] : []
}

const merged = (grants: readonly Grant[]): readonly Grant[] => {
  const known = new Map<string, Grant>()
  for (const grant of grants) {
    const text = JSON.stringify([grant.place, grant.role ?? null, grant.rights?.toSorted() ?? null])
    if (!known.has(text)) known.set(text, grant)
  }
  return [...known.values()]
}

/** Access of a login or an exchange according to the rules; all rights if no rules apply. */
export const grantsFor = (policy: Omit<AccessPolicy, 'requireRole'>, subject: Subject): GrantedAccess => {
  if (!isGoverned(policy)) return { holding: {} }
  const { unmatched = 'refuse', roles } = policy
  const matching = matchingRules(policy, subject)
  const others = unmatched === 'refuse' ? [] : unmatched
  const given =
    matching.length === 0
      ? others
      : matching.flatMap(({ name, grants }) => grants.map((grant) => ({ ...grant, rule: name })))
  const grants = merged(given.flatMap((grant) => placed(grant, subject)))
  if (grants.length === 0) return { refused: 'nothing' }
  if (grants.length > MAX_GRANTS) return { refused: 'too_many' }
  return { holding: { grants, roles: meaningsIn(grants, meaningsOf(roles)) } }
}

/** Claims that rules read and that the provider sent as a reference only. Such claims are logged for the operator. */
export const referencedClaims = (rules: readonly Rule[], subject: Subject): readonly string[] => {
  if (subject.method !== 'oidc') return []
  const asked = rules.flatMap((rule) =>
    rule.method === 'oidc' && rule.provider === subject.provider ? [rule.claim] : [],
  )
  return [...new Set(asked)].filter((claim) => isReferenced(subject.claims, claim))
}

/** Maximum number of claims listed by name. */
const MOST = 10
const UNLISTED = 'without one of any_of'

const named = (claims: readonly string[]): string => {
  const more = claims.length - MOST
  return claims.slice(0, MOST).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/**
 * Describes, for a login that no rule matches, the claims that the provider's rules read and their defects. The
 * description contains no values of claims.
 */
export const missedClaims = (
  { rules, assumeVerified }: Pick<AccessPolicy, 'rules' | 'assumeVerified'>,
  { provider, claims }: Extract<Subject, { method: 'oidc' }>,
): string => {
  const asked = rules.filter((rule): rule is OidcRule => rule.method === 'oidc' && rule.provider === provider)
  const lacks = new Map<string, string[]>()
  for (const claim of new Set(asked.map((rule) => rule.claim))) {
    const lack = lackOf(claims, claim, assumeVerified.includes(provider)) ?? UNLISTED
    lacks.set(lack, [...(lacks.get(lack) ?? []), claim])
  }
  return [...lacks].map(([lack, names]) => `${lack}: ${named(names)}`).join('; ')
}
