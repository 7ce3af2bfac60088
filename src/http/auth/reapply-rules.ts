import { isGoverned } from '../../access/rules.ts'
import type { TokenInUse } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'

/**
 * Reduces logins and exchanges of an earlier access configuration to the current rules (api.md §3.8), before their next
 * request is decided. The entry of a checked token contains the number of the configuration, so the rules are applied
 * once for each configuration.
 */
export const reapplyRules = ({ settings: { access }, policy }: CommandServices & Pick<LoginServices, 'policy'>) => ({
  /** True if the rules must still be applied to a token. Without access rules the result is always false. */
  isOpen: !isGoverned(access) ? () => false : (entry: TokenInUse): boolean => entry.judged < (policy.known() ?? -1),
  /** The token after applying the rules, which `look` reads again; undefined if the rules leave it no grants. */
  ask: async (
    entry: TokenInUse,
    look: () => TokenInUse | undefined | Promise<TokenInUse | undefined>,
  ): Promise<TokenInUse | undefined> => {
    const number = policy.known() ?? -1
    if ((await policy.narrow(entry.id)) !== 'kept') return look()
    entry.judged = number
    return entry
  },
})
