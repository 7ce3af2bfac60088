import { asOf } from '../../as-of/as-of.ts'
import { asOfReads } from '../../as-of/reads.ts'
import { compileFlag } from '../../evaluation/compile.ts'
import { history as historyOfLog } from '../../history/history.ts'
import { tokenHolders } from '../../http/auth/token-holders.ts'
import { streamSlots } from '../../http/memory/stream-slots.ts'
import { asOfReadings } from '../../http/steps/as-of-readings.ts'
import { historyReadRecorder } from '../../jobs/history-reads.ts'
import { type AsOfReader, asOfWorker } from '../as-of-thread/worker.ts'
import type { Core } from '../core/core.ts'
import { oncePerMinute } from '../telemetry/limited-lines.ts'

const DAMAGED =
  'the index of events is damaged; stop the service and rebuild the index: rollcall projections rebuild event_index'

/** Creates the reader of past states: for an embedded store in its own thread, for servers in this thread. */
const asOfReaderOf = ({ stores, log, faults }: Core): AsOfReader => {
  const { views, files, pepper } = stores
  if (files) return asOfWorker(files, pepper.key, faults)
  return { ...asOfReads({ log, views, key: pepper.key, atOnce: 8 }), close: async () => undefined }
}

/** The history of events and past states: their readers, the limit of their streams, and the record of reads. */
export const historyOf = (core: Core) => {
  const { config, clock, log, views, follower, flagStore, metrics, onError } = core
  // One search may find many damaged rows.
  const tellDamage = oncePerMinute(({ what }, message) => onError(message)(new Error(String(what))), clock.now)
  const past = asOfReaderOf(core)
  const historyStreams = streamSlots(config.history.streams)
  metrics.gauge('history_streams', 'Exports and live streams of the history that are running.', [], () =>
    historyStreams.running(),
  )
  const historyReads = historyReadRecorder(core.execute, clock, {
    onRead: (route, format) => metrics.historyReads(route, format).value++,
    onError: onError('the event that records the readers of the history cannot be written'),
  })
  return {
    services: {
      history: historyOfLog({
        log,
        views,
        key: core.stores.pepper.key,
        seen: follower.seen,
        counted: follower.counted,
        onDamage: (what) => tellDamage('index', { what }, DAMAGED),
      }),
      historyStreams,
      historyReads,
      pastReadings: { read: asOfReadings(metrics, clock), holderOf: tokenHolders(views) },
      asOf: asOf({
        ...core,
        reads: past,
        present: flagStore.row,
        compile: compileFlag,
        clock: { now: clock.now, newest: core.time.newest },
      }),
    },
    drain: historyStreams.end,
    close: async (): Promise<void> => {
      await past.close()
      await historyReads.close()
    },
  }
}
