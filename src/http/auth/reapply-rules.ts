import { isGoverned } from '../../access/rules.ts'
import type { TokenInUse } from '../../projections/token-memory/token-slots.ts'
import type { AuthServices } from '../services/auth.ts'
import type { InstanceServices } from '../services/instance.ts'

/**
 * Sees to it that a login or an exchange of an earlier configuration of access has no more than the rules of this one give it (api.md §3.8),
 * before its next request is decided. A token that was looked at keeps the number of the configuration, so that it is not looked at again.
 */
export const reapplyRules = ({ settings: { access }, policy, narrow, verifier }: InstanceServices & AuthServices) => ({
  /** Whether the rules are still to be asked about a token. Where there are none, there is nothing to ask. */
  isOpen: !isGoverned(access) ? () => false : (entry: TokenInUse): boolean => entry.judged < (policy.known() ?? -1),
  /** The token as it is under the rules; undefined where they leave it nothing. */
  ask: async (entry: TokenInUse, secret: string): Promise<TokenInUse | undefined> => {
    const number = policy.known() ?? -1
    if ((await narrow(entry.id)) !== 'kept') return verifier.verify(secret)
    entry.judged = number
    return entry
  },
})
