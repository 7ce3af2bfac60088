import { personal } from '../../contract/history/events.ts'
import { type Query } from '../../contract/readers/input.ts'
import { eventOpener, type OpenEvent } from '../../history/opened-fields.ts'
import { contextOf } from '../commands/command-context.ts'
import { beforeRules } from '../route/required-rights.ts'
import { type Call } from '../route/route.ts'
import type { HistoryService } from '../services/history.ts'

/** Counts a read of the history that returns `events` events (api.md §16.6). A HEAD request is not recorded. */
export const countReading = (
  { historyReads }: Pick<HistoryService, 'historyReads'>,
  { caller, route, request }: Call<unknown, unknown>,
  events: number,
  format = 'json',
): void => {
  if (request.method !== 'HEAD') historyReads.counted(caller.actor, { route, format, events, opened: false })
}

const personalIn = beforeRules({ personal })

/** True for a query that opens personal data. Such a query needs a credential with `audit.read`. */
export const opensPersonal = (asked: Query): boolean => personalIn(asked)?.personal === 'open'

type OpeningCall = Call<unknown, { readonly personal: 'sealed' | 'open' }>

/** A read of the history as its record describes it: format, filter as given, and range of indexes. */
type RecordedRead = {
  readonly format: string
  readonly filter: Readonly<Record<string, string>>
  readonly fromIndex: number
  readonly toIndex?: number
}

/** True if the answer to a call has opened personal data. HEAD is not recorded, so it opens nothing. */
export const isOpening = ({ query, request }: OpeningCall): boolean =>
  query.personal === 'open' && request.method !== 'HEAD'

/**
 * Returns the function that opens the personal data of an answer, after the read was recorded durably; undefined for an
 * answer without opened personal data. Refuses with `backend_unavailable` if the record cannot be written.
 */
export const recordedOpening = async (
  service: HistoryService,
  call: OpeningCall,
  read: RecordedRead,
): Promise<OpenEvent | undefined> => {
  if (!isOpening(call)) return undefined
  await service.historyReads.exported(contextOf(call, service), call.route, { ...read, personal: true })
  return eventOpener(service.sealer)
}
