import { type Claims, isReferenced, textsOf } from './claims.ts'
import { foldDomain, listsName, teamNames } from './folded.ts'
import { type Grant, type Holding, isKey } from './grants.ts'
import { meaningsIn, meaningsOf } from './meanings.ts'
import type { Role } from './roles.ts'

/** In the place of a grant: the namespace of the service account. */
export const ITS_NAMESPACE = '{namespace}'
/** Grants that a login or an exchange may have. */
export const MAX_GRANTS = 256

type Named = { readonly name: string; readonly grants: readonly Grant[] }
export type OidcRule = Named & {
  readonly method: 'oidc'
  readonly provider: string
  /** Name of a claim, or a JSON Pointer to one. */
  readonly claim: string
  readonly anyOf: readonly string[]
}
export type CodehostRule = Named & {
  readonly method: 'codehost'
  readonly organizations: readonly string[]
  /** `organization/slug` */
  readonly teams: readonly string[]
}
export type OrchestratorRule = Named & {
  readonly method: 'orchestrator'
  readonly namespaces: readonly string[]
  readonly serviceAccounts: readonly string[]
}
/** What somebody must be for the provider, and the grants that follow. */
export type Rule = OidcRule | CodehostRule | OrchestratorRule

/** The access that a deployment is configured with. */
export type AccessPolicy = {
  readonly rules: readonly Rule[]
  /** What they get whom no rule matches; undefined where the configuration does not say, which is nothing once there is a rule. */
  readonly unmatched: 'refuse' | readonly Grant[] | undefined
  /** The providers that say nothing of whether an e-mail address is verified, and whose addresses count as verified. */
  readonly assumeVerified: readonly string[]
  /** Built-in and own. */
  readonly roles: readonly Role[]
  /** A static token must be given a role or grants. */
  readonly requireRole: boolean
}

/** Who logs in or exchanges, as rules see them. */
export type Subject =
  | { readonly method: 'oidc'; readonly provider: string; readonly claims: Claims }
  | {
      readonly method: 'codehost'
      readonly organizations: readonly string[]
      readonly teams: Readonly<Record<string, readonly string[]>>
    }
  | { readonly method: 'orchestrator'; readonly namespace: string; readonly account: string }

/** What rules give: a holding, or nothing, because none grants anything or because it is more than a token may have. */
export type GrantedAccess = { readonly holding: Holding } | { readonly refused: 'nothing' | 'too_many' }

/** Whether logins and exchanges are under rules: there is one, or the configuration says what they get whom none matches. */
export const isGoverned = ({
  rules,
  unmatched,
}: {
  readonly rules: readonly unknown[]
  readonly unmatched?: unknown
}): boolean => rules.length > 0 || unmatched !== undefined

const covers = (listed: readonly string[], name: string): boolean => listed.includes('*') || listed.includes(name)

/** A text of a claim as it is compared: in the domain of an e-mail address case means nothing. */
const compared = (claim: string): ((text: string) => string) => (claim === 'email' ? foldDomain : (text) => text)

const matches = (rule: Rule, subject: Subject, assumeVerified: readonly string[]): boolean => {
  if (rule.method === 'oidc') {
    if (subject.method !== 'oidc' || rule.provider !== subject.provider) return false
    const wanted = rule.anyOf.map(compared(rule.claim))
    return textsOf(subject.claims, rule.claim, assumeVerified.includes(rule.provider))
      .map(compared(rule.claim))
      .some((text) => wanted.includes(text))
  }
  if (rule.method === 'codehost')
    return (
      subject.method === 'codehost' &&
      (rule.organizations.some((name) => listsName(subject.organizations, name)) ||
        rule.teams.some((team) => listsName(teamNames(subject.teams), team)))
    )
  return (
    subject.method === 'orchestrator' &&
    covers(rule.namespaces, subject.namespace) &&
    covers(rule.serviceAccounts, subject.account)
  )
}

/** The rules that match, by name: their order in the configuration is no matter. */
export const matchingRules = (
  { rules, assumeVerified }: Pick<AccessPolicy, 'rules' | 'assumeVerified'>,
  subject: Subject,
): readonly Rule[] =>
  rules.filter((rule) => matches(rule, subject, assumeVerified)).sort((a, b) => (a.name < b.name ? -1 : 1))

/** A grant with the namespace of the account in its place; nothing where that can be the key of none. */
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

/** What the rules give a login or an exchange. Where it is under none it is the full reach. */
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

/** The claims that rules ask for and that the provider gave a reference for: to be told to the operator. */
export const referencedClaims = (rules: readonly Rule[], subject: Subject): readonly string[] => {
  if (subject.method !== 'oidc') return []
  const asked = rules.flatMap((rule) =>
    rule.method === 'oidc' && rule.provider === subject.provider ? [rule.claim] : [],
  )
  return [...new Set(asked)].filter((claim) => isReferenced(subject.claims, claim))
}
