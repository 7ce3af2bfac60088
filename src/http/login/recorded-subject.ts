import type { Subject } from '../../access/rules.ts'
import { claimsIn } from '../../auth/identity.ts'
import type { TokenDoc } from '../../projections/tokens.ts'

type Texts = Readonly<Record<string, string>>

/** What is recorded of a login or an exchange in the clear. */
type Recorded = Pick<TokenDoc, 'provider' | 'attributes'> & {
  readonly method: Exclude<TokenDoc['method'], 'token'>
}

const parsed = <T>(text: string | undefined, otherwise: T): T =>
  text === undefined ? otherwise : (JSON.parse(text) as T)

/** Who logged in or exchanged, as rules see them, by what is recorded of it. `personal` is what the profile holds: nothing, where that was erased. */
export const subjectOf = ({ method, provider, attributes }: Recorded, personal: Texts = {}): Subject => {
  if (method === 'oidc')
    return {
      method,
      provider: provider ?? attributes['oidc.provider'] ?? '',
      claims: claimsIn(personal),
    }
  if (method === 'codehost')
    return {
      method,
      organizations: parsed<readonly string[]>(personal['codehost.organizations'], []),
      teams: parsed<Readonly<Record<string, readonly string[]>>>(personal['codehost.teams'], {}),
    }
  return {
    method,
    namespace: attributes['orchestrator.namespace'] ?? '',
    account: attributes['orchestrator.serviceaccount.name'] ?? '',
  }
}
