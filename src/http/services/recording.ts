import type { Tracer } from '../../base/tracing.ts'
import type { HistoryReadRecorder } from '../../jobs/history-reads.ts'
import type { LastUses } from '../../jobs/last-uses.ts'
import type { RefusalHistory } from '../../jobs/refusals.ts'
import type { Metrics } from '../operations/metrics.ts'

/** Services that record requests: metrics, history and log. */
export type RecordingServices = {
  readonly metrics: Metrics
  readonly refusals: RefusalHistory
  /** Last uses of tokens. */
  readonly uses: LastUses
  /** Last evaluations of flags and last fetches of snapshots. */
  readonly evaluations: LastUses
  readonly historyReads: HistoryReadRecorder
  /** Absent without tracing. */
  readonly tracer?: Tracer | undefined
  /** Logs at INFO. */
  readonly tell: (record: Readonly<Record<string, unknown>>, message: string) => void
  /** Logs at WARN, at most once a minute for each `what`. */
  readonly warn: (what: string, record: Readonly<Record<string, unknown>>, message: string) => void
}
