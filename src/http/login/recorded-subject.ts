import type { Subject, SubjectOf } from '../../access/rules.ts'
import { claimsIn } from '../../auth/identity.ts'
import type { TokenDoc } from '../../projections/tokens.ts'

type Texts = Readonly<Record<string, string>>

type Method = Exclude<TokenDoc['method'], 'token'>
/** Unsealed record of a login or exchange. */
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
