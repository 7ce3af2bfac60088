import type { Clock } from '../../base/clock.ts'
import type { Execute } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import type { EventLog } from '../../events/log.ts'
import { history } from '../../history/history.ts'
import { streamSlots } from '../../http/history/stream-slots.ts'
import type { Metrics } from '../../http/operations/metrics.ts'
import { historyReadRecorder } from '../../jobs/history-reads.ts'
import type { runner } from '../../projections/engine/runner.ts'
import type { Views } from '../../projections/views.ts'
import { oncePerMinute } from '../telemetry/warnings.ts'

type Parts = {
  readonly clock: Clock
  readonly log: EventLog
  readonly stores: { readonly views: Views; readonly pepper: { readonly key: Uint8Array } }
  readonly follower: Pick<ReturnType<typeof runner>, 'seen' | 'counted'>
  readonly execute: Execute
  readonly metrics: Pick<Metrics, 'historyReads' | 'gauge'>
  readonly onError: (what: string) => (error: unknown) => void
}

const DAMAGED =
  'the index of events is damaged; stop the service and rebuild the index: rollcall projections rebuild event_index'

/** Creates the services of the history: its reader, the limit of its streams, and the record of reads. */
export const historyServicesOf = (
  config: Config,
  { clock, log, stores, follower, execute, metrics, onError }: Parts,
) => {
  // One search may find many damaged rows.
  const tellDamage = oncePerMinute(({ what }, message) => onError(message)(new Error(String(what))), clock.now)
  const historyStreams = streamSlots(config.history.streams)
  metrics.gauge('history_streams', 'Exports and live streams of the history that are running.', [], () => [
    { labels: [], value: historyStreams.running() },
  ])
  return {
    history: history({
      log,
      views: stores.views,
      key: stores.pepper.key,
      seen: follower.seen,
      counted: follower.counted,
      onDamage: (what) => tellDamage('index', { what }, DAMAGED),
    }),
    historyStreams,
    historyReads: historyReadRecorder(execute, clock, {
      onRead: (route, format) => metrics.historyReads(route, format).value++,
      onError: onError('the event that records the readers of the history cannot be written'),
    }),
  }
}
