import type { QuarantinedDocuments } from '../../projections/flag-memory/quarantined-documents.ts'
import type { TokenStanding } from '../../projections/token-memory/token-index.ts'
import type { View } from '../../projections/views.ts'
import type { AuthServices } from './auth.ts'
import type { CommandServices, Mount } from './commands.ts'
import type { FlagServices } from './flags.ts'
import type { LoginServices } from './logins.ts'

/** Services of the routes of tokens. */
export type TokenServices = Pick<FlagServices, 'flagStore' | 'asOf' | 'pageTokens'> &
  Pick<AuthServices, 'uses'> &
  Pick<LoginServices, 'logins' | 'secrets'> & {
    /**
     * Revision of the newest event of an active token in memory; the stream may have newer events of another instance.
     */
    readonly tokenStanding: (id: string) => TokenStanding | undefined
    /** Quarantined documents. */
    readonly closed: QuarantinedDocuments
    /** Resolves to true as soon as a read model contains every event up to the position; to false after `withinMs` ms. */
    readonly viewsReached: (view: View, position: bigint, withinMs: number) => Promise<boolean>
  }

export type TokenService = CommandServices & TokenServices
export type TokenMount = Mount<TokenService>
