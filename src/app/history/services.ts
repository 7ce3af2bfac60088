import type { Config } from '../../config/load.ts'
import { history } from '../../history/history.ts'
import { streamSlots } from '../../http/history/stream-slots.ts'
import { historyReadRecorder } from '../../jobs/history-reads.ts'
import type { Core } from '../core.ts'

/** Creates the services of the history: its reader, the limit of its streams, and the record of its readings. */
export const historyServicesOf = (config: Config, { clock, log, stores, follower, execute, onError }: Core) => ({
  history: history({
    log,
    views: stores.views,
    key: stores.pepper.key,
    seen: follower.seen,
    counted: follower.counted,
  }),
  historyStreams: streamSlots(config.history.streams),
  historyReads: historyReadRecorder(execute, clock, onError('cannot write the readings of the history')),
})
