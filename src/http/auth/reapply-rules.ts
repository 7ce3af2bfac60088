import { isGoverned } from '../../access/rules.ts'
import { rowNow } from '../../as-of/as-of.ts'
import type { LoginCause } from '../../base/login-causes.ts'
import type { TokenEntry } from '../../projections/token-memory/token-index.ts'
import { tokens } from '../../projections/tokens.ts'
import type { TokenInUse } from '../services/auth.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'

/** Reason to refuse an earlier login, and its provider. */
type Bar = { readonly cause: LoginCause; readonly provider: string | undefined }

/**
 * Applies the current e-mail rule to earlier logins (api.md §5.5). A login whose personal data is erased or lost is
 * refused.
 */
export const emailRule = ({ log, sealer, logins }: CommandServices & Pick<LoginServices, 'logins'>) => {
  const verdicts = new WeakMap<TokenEntry, Bar | 'admitted'>()
  return {
    /** True if the rule must still be evaluated for a token. Refused tokens are evaluated again on each request. */
    isOpen: (entry: TokenEntry): boolean =>
      entry.method === 'oidc' && logins.restricted && verdicts.get(entry) !== 'admitted',
    /** Reason for which the last evaluation refused a token, if any. */
    barOf: (entry: TokenEntry): Bar | undefined => {
      const verdict = verdicts.get(entry)
      return verdict === 'admitted' ? undefined : verdict
    },
    ask: async <E extends TokenEntry>(entry: E): Promise<E> => {
      const doc = (await rowNow(log, tokens, entry.id))?.doc
      const opened = doc?.profile === undefined ? undefined : await sealer.open(doc.profile)
      const profile = opened && 'text' in opened ? (JSON.parse(opened.text) as Record<string, string>) : undefined
      const cause = profile ? logins.barOf(doc?.provider ?? '', profile) : 'email_gone'
      verdicts.set(entry, cause === undefined ? 'admitted' : { cause, provider: doc?.provider })
      return entry
    },
  }
}

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
