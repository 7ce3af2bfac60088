import type { FastifyRequest } from 'fastify'
import type { Reach } from '../../access/reach.ts'
import type { Fingerprints } from '../../auth/client-token.ts'
import type { SubjectEraser } from '../../commands/erase-subject.ts'
import type { Keys } from '../../events/personal.ts'
import type { History } from '../../history/history.ts'
import type { HistoryReadRecorder } from '../../jobs/history-reads.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ErasureStore } from '../../projections/erasures.ts'
import type { StreamSlots } from '../memory/stream-slots.ts'
import type { PastReadings } from '../steps/as-of-readings.ts'
import type { CommandServices, Mount } from './commands.ts'
import type { EvaluationServices, FlagServices } from './flags.ts'
import type { LoginServices } from './logins.ts'
import type { TokenServices } from './tokens.ts'

/** Services of the routes of the history and its ledger. */
export type HistoryServices = Pick<FlagServices, 'asOf' | 'pageTokens' | 'flagStore'> &
  Pick<LoginServices, 'logins'> &
  Pick<EvaluationServices, 'seen'> & {
    readonly history: History
    readonly historyReads: HistoryReadRecorder
    readonly historyStreams: StreamSlots
    readonly ledger: Ledger
    readonly pastReadings: PastReadings
    /** Rights with which a running request would be authorized again; undefined if it would be refused. */
    readonly reachNow: (request: FastifyRequest) => Promise<Reach | undefined>
  }

/** Services of the searches for tokens, sessions and subjects. */
type SearchServices = Pick<HistoryServices, 'history' | 'historyReads' | 'pastReadings' | 'pageTokens'> &
  Pick<TokenServices, 'closed' | 'uses' | 'viewsReached'> &
  Pick<LoginServices, 'logins'> & { readonly fingerprints: Fingerprints }

/** Services for the erasure of subjects. */
type ErasureServices = Pick<HistoryServices, 'history'> & {
  readonly eraser: SubjectEraser
  /** Erasures in memory. */
  readonly erasures: Pick<ErasureStore, 'of' | 'row'>
  readonly keyStates: Keys['states']
}

export type HistoryService = CommandServices & HistoryServices
export type HistoryMount = Mount<HistoryService>
export type SearchService = CommandServices & SearchServices
export type SearchMount = Mount<SearchService>
export type ErasureService = CommandServices & ErasureServices
export type ErasureMount = Mount<ErasureService>
