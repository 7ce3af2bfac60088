import { rowNow } from '../../as-of/as-of.ts'
import type { LoginCause } from '../../auth/login-causes.ts'
import type { TokenEntry } from '../../projections/token-memory/token-slots.ts'
import { tokens } from '../../projections/tokens.ts'
import type { CommandServices } from '../services/commands.ts'
import type { LoginServices } from '../services/logins.ts'

/** Why a login of yesterday may not come in, and at which provider it was. */
type Bar = { readonly cause: LoginCause; readonly provider: string | undefined }

/** Whether the e-mail rule of today admits a login of yesterday (api.md §5.5). Erased or lost personal data admits nobody. */
export const emailRule = ({ log, sealer, logins }: CommandServices & LoginServices) => {
  const verdicts = new WeakMap<TokenEntry, Bar | 'admitted'>()
  return {
    /** Whether the rule is still to be asked about a token; of one that is refused it is asked each time. */
    isOpen: (entry: TokenEntry): boolean =>
      entry.method === 'oidc' && logins.restricted && verdicts.get(entry) !== 'admitted',
    /** What keeps a token out that the rule was asked about. */
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
