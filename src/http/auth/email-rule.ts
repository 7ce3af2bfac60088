import { rowNow } from '../../audit/as-of.ts'
import { tokens } from '../../projections/tokens.ts'
import type { TokenEntry } from '../../projections/token-slots.ts'
import type { Service } from '../service.ts'

/** Whether the e-mail rule of today admits a login of yesterday (api.md §5.5). Erased or lost personal data admits nobody. */
export const emailRule = ({ log, sealer, logins }: Service) => {
  const verdicts = new WeakMap<TokenEntry, boolean>()
  return {
    /** Whether the rule is still to be asked about a token. */
    isOpen: (entry: TokenEntry): boolean =>
      entry.method === 'oidc' && logins.restricted && verdicts.get(entry) !== true,
    refuses: (entry: TokenEntry): boolean => verdicts.get(entry) === false,
    ask: async <E extends TokenEntry>(entry: E): Promise<E> => {
      const doc = (await rowNow(log, tokens, entry.id))?.doc
      const opened = doc?.profile === undefined ? undefined : await sealer.open(doc.profile)
      const attributes = opened && 'text' in opened ? (JSON.parse(opened.text) as Record<string, string>) : {}
      verdicts.set(entry, logins.barOf(doc?.provider ?? '', attributes) === undefined)
      return entry
    },
  }
}
