import type { Clock } from '../../base/clock.ts'
import type { Queue, Run } from '../../jobs/queue.ts'
import type { Metrics } from './metrics.ts'

const OUTCOMES = ['running', 'ok', 'failed'] as const

type StoreGauged = {
  readonly queue: Pick<Queue, 'runs'>
  /** Milliseconds between two runs of each job. */
  readonly intervals: ReadonlyMap<string, number>
  /** Number of reconnections and resubscriptions of the log's client. */
  readonly restarts: Readonly<Record<string, number>>
  /** True while this instance writes the read models. */
  readonly writes: () => boolean
  /** False while jobs and limits run without their shared server. */
  readonly sharing: () => boolean
  /** Number of events that the views do not contain yet. */
  readonly viewLag: () => Promise<number>
  /** Number of events in full segments that the index of events lacks. */
  readonly indexLag: () => Promise<number>
  /** Number of documents that are too large for the views, so that their rows are out of date. */
  readonly refusedRows: () => number
  /** Sizes in bytes of the write-ahead logs of an embedded store; none on servers. */
  readonly writeAheadLogs?: () => Promise<readonly { readonly database: string; readonly bytes: number }[]>
  /** Milliseconds since this instance last proved that it has seen the end of the log. */
  readonly provenFor: () => number
  readonly clock: Clock
}

const outcomeOf = ({ finishedAt, error }: Run): (typeof OUTCOMES)[number] =>
  finishedAt === undefined ? 'running' : error === undefined ? 'ok' : 'failed'

/**
 * Gauges of the lease, freshness, the log's client, and the last run of each job over all instances. If the queue is
 * unreachable, only the gauges of runs are missing.
 */
export const addStoreGauges = (
  { gauge, count }: Metrics,
  { queue, intervals, restarts, viewLag, indexLag, clock, ...read }: StoreGauged,
): void => {
  let pending: Promise<readonly Run[]> | undefined
  /** Reads the runs once for all gauges of a page. */
  const runs = (): Promise<readonly Run[]> =>
    (pending ??= queue
      .runs()
      .catch(() => [])
      .finally(() => (pending = undefined)))
  const ofRuns = (
    name: string,
    help: string,
    labels: readonly string[],
    read: (run: Run) => readonly (readonly [number, ...string[]])[],
  ) =>
    gauge(`job_last_${name}`, help, ['name', ...labels], async () =>
      (await runs()).flatMap((run) =>
        read(run).map(([value, ...values]) => ({ labels: [run.name, ...values], value })),
      ),
    )

  count('log_restarts_total', 'New connections and subscriptions of the client of the log.', ['what'], () =>
    Object.entries(restarts).map(([what, value]) => ({ labels: [what], value })),
  )
  gauge('view_lease_held', '1 if this instance has the lease to write the read models, else 0.', [], () =>
    read.writes() ? 1 : 0,
  )
  gauge('queue_shared', '1 if jobs and rate limits are shared with the other instances, else 0.', [], () =>
    read.sharing() ? 1 : 0,
  )
  const lag = (name: string, help: string, read: () => Promise<number>) =>
    gauge(name, help, [], () => read().catch(() => []))
  lag('view_lag_events', 'Events that memory contains and the read models lack.', viewLag)
  lag('history_index_lag_events', 'Events in full segments that the index of events lacks.', indexLag)
  gauge('view_documents_refused', 'Documents too large for the read models; their rows are old.', [], () =>
    read.refusedRows(),
  )
  gauge('embedded_wal_bytes', 'Size in bytes of the write-ahead log of a database file.', ['file'], async () =>
    ((await read.writeAheadLogs?.()) ?? []).map(({ database, bytes }) => ({ labels: [database], value: bytes })),
  )
  gauge(
    'freshness_age_seconds',
    'Seconds since this instance proved that it has all events of the log.',
    [],
    () => read.provenFor() / 1000,
  )
  gauge('job_interval_seconds', 'Seconds between two runs of a job.', ['name'], () =>
    [...intervals].map(([name, every]) => ({ labels: [name], value: every / 1000 })),
  )
  ofRuns(
    'start_timestamp_seconds',
    'Start of the last run of a job on any instance, in seconds since 1970.',
    [],
    ({ startedAt }) => [[startedAt / 1000]],
  )
  ofRuns(
    'duration_seconds',
    'Duration of the last run of a job, or of the running one so far.',
    [],
    ({ startedAt, finishedAt = clock.now().getTime() }) => [[Math.max(0, finishedAt - startedAt) / 1000]],
  )
  ofRuns('outcome', 'Outcome of the last run of a job: 1 for one of running, ok and failed.', ['outcome'], (run) =>
    OUTCOMES.map((outcome) => [outcome === outcomeOf(run) ? 1 : 0, outcome] as const),
  )
  ofRuns('items', 'Items of the last run of a job: done, and in total.', ['of'], ({ progress }) => {
    if (!progress) return []
    const { done, total } = progress
    return [[done, 'done'], ...(total === undefined ? [] : ([[total, 'total']] as const))]
  })
}
