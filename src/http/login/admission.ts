import {
  type AccessPolicy,
  grantsFor,
  isGoverned,
  MAX_GRANTS,
  matchingRules,
  missedClaims,
  type Rule,
  type RuledMethod,
  referencedClaims,
  type Subject,
  type SubjectOf,
} from '../../access/rules.ts'
import { claimsIn } from '../../auth/identity.ts'
import { refusalFor } from '../../auth/refusal-details.ts'
import { isRefusal, type Refusal } from '../../base/errors.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { TokenGrant } from '../auth/issue-token.ts'
import type { LoginService, LoginServices } from '../services/logins.ts'

/** Part of a token's event that the rules determine. */
export type Granted = Pick<TokenGrant, 'grants' | 'roles' | 'policy'>

/** A confirmed identity, with the result of its admission. */
export type Admitted<I, G> = { readonly identity: I; readonly granted: G }
/** Error that refuses a login or an exchange, with the identity if it was confirmed. */
export type Refused<I> = { readonly refused: unknown; readonly identity?: I | undefined }

/**
 * Awaits the identity of a login or an exchange, then its grants. If one of the two steps fails, the result contains
 * the error as `refused`.
 */
export const admit = async <I, G>(
  identified: Promise<I>,
  grantsOf: (identity: I) => Promise<G>,
): Promise<Admitted<I, G> | Refused<I>> => {
  let identity: I | undefined
  try {
    identity = await identified
    return { identity, granted: await grantsOf(identity) }
  } catch (refused) {
    return { refused, identity }
  }
}

const TOO_MANY = `a login or exchange is refused, because the matching access rules give more than ${MAX_GRANTS} grants; configure fewer rules that match the same person or account`
const REFERENCED =
  'an access rule uses a claim for which the provider sends only a reference, so the claim counts as absent; configure the provider to put the values of the claim into the ID token'

/** Number of the access configuration; undefined if the history has none and there are no rules. */
const numberWithoutRules = async ({ policy }: Pick<LoginServices, 'policy'>): Promise<number | undefined> => {
  try {
    return (await policy.number()) || undefined
  } catch (error) {
    if (isRefusal(error, 'release_in_progress')) return undefined
    throw error
  }
}

const isAbout = (rule: Rule, subject: Subject): boolean =>
  rule.method === 'oidc'
    ? subject.method === 'oidc' && rule.provider === subject.provider
    : rule.method === subject.method

/** Login method of a subject, and the properties by which no rule matches it. */
const unmatched: {
  readonly [M in RuledMethod]: (subject: SubjectOf<M>, policy: AccessPolicy) => readonly [way: string, found: string]
} = {
  oidc: (subject, policy) => [`the provider ${subject.provider}`, missedClaims(policy, subject)],
  codehost: ({ organizations, teams }) => [
    'the code host',
    `organizations kept of this person: ${organizations.length}, teams: ${Object.values(teams).flat().length}`,
  ],
  orchestrator: () => ['service accounts', ''],
}

/** Refusal of a subject to which the rules grant nothing. */
const nothingFor = (policy: AccessPolicy, subject: Subject): Refusal => {
  if (matchingRules(policy, subject).length > 0) return refusalFor('grant_nowhere')
  const rules = policy.rules.filter((rule) => isAbout(rule, subject)).length
  const describe = unmatched[subject.method] as (subject: Subject, policy: AccessPolicy) => readonly [string, string]
  const [way, found] = describe(subject, policy)
  return refusalFor('grant_unmatched', { rules, way, what: rules > 0 && found !== '' ? `; ${found}` : '' })
}

/**
 * Grants of the rules for a login or exchange, as stored in its token's event (api.md §3.8). Refuses a subject without
 * grants with `no_grant`. Without rules the event has no grants, which means full access until the access configuration
 * changes.
 */
export const grantsForLogin = async (service: LoginService, subject: Subject): Promise<Granted> => {
  const { access } = service.settings
  if (!isGoverned(access)) {
    const policy = await numberWithoutRules(service)
    return policy === undefined ? {} : { policy }
  }
  const { method } = subject
  const provider = 'provider' in subject ? { provider: subject.provider } : {}
  for (const claim of referencedClaims(access.rules, subject))
    service.lines.warn(`referenced ${claim}`, { ...provider, claim }, REFERENCED)
  const given = grantsFor(access, subject)
  if ('holding' in given) {
    const { grants, roles } = given.holding
    return { ...(grants && { grants, roles: roles ?? {} }), policy: await service.policy.number() }
  }
  service.metrics.authDecisions('refused', 'no_grant', '').value++
  if (given.refused === 'nothing') throw nothingFor(access, subject)
  service.lines.warn(`too many ${method}`, { method, ...provider }, TOO_MANY)
  throw refusalFor('grant_many', { most: MAX_GRANTS })
}

type Texts = Readonly<Record<string, string>>

type Method = Exclude<TokenDoc['method'], 'token'>
/** Decrypted record of a login or exchange. */
type Recorded = Pick<TokenDoc, 'provider' | 'attributes'> & { readonly method: Method }

const parsed = <T>(text: string | undefined, otherwise: T): T =>
  text === undefined ? otherwise : (JSON.parse(text) as T)

const subjects: {
  readonly [M in Method]: (recorded: Omit<Recorded, 'method'>, personal: Texts) => SubjectOf<M>
} = {
  oidc: ({ provider, attributes }, personal) => ({
    method: 'oidc',
    provider: provider ?? attributes['oidc.provider'] ?? '',
    claims: claimsIn(personal),
  }),
  codehost: (_recorded, personal) => ({
    method: 'codehost',
    organizations: parsed<readonly string[]>(personal['codehost.organizations'], []),
    teams: parsed<Readonly<Record<string, readonly string[]>>>(personal['codehost.teams'], {}),
  }),
  orchestrator: ({ attributes }) => ({
    method: 'orchestrator',
    namespace: attributes['orchestrator.namespace'] ?? '',
    account: attributes['orchestrator.serviceaccount.name'] ?? '',
  }),
}

/**
 * Subject of the rules, from the record of a login or exchange. `personal` is the content of the profile; empty if it
 * was erased.
 */
export const subjectOf = ({ method, ...recorded }: Recorded, personal: Texts = {}): Subject =>
  subjects[method](recorded, personal)
