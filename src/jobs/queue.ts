/** Progress of a run: number of items done, and the total if known. */
export type Progress = { readonly done: number; readonly total?: number }

/**
 * Periodic work. A job only sends commands that do nothing if not due, so an extra, late or aborted run is harmless.
 */
export type Job = {
  readonly name: string
  /** Interval between runs in ms. The first run is at the start of the service. */
  readonly every: number
  /** `tell` reports progress, returns immediately and never fails. */
  readonly run: (signal: AbortSignal, tell: (progress: Progress) => void) => Promise<void>
}

/**
 * Last run of a job. Times of a run are in epoch ms. `progress` is the progress that the run reported last. A new
 * process may have no record of it.
 */
export type Run = {
  readonly name: string
  readonly startedAt: number
  readonly finishedAt?: number
  readonly error?: string
  readonly progress?: Progress
}

/**
 * PORT. Runs jobs: at start, then once per interval across all instances that share the queue, never two runs of one
 * job at the same time. A failed run is reported to `onError` and repeated at the next interval. If the queue is
 * unavailable, nothing is blocked or lost.
 */
export type Queue = {
  readonly schedule: (job: Job) => Promise<void>
  readonly runs: () => Promise<readonly Run[]>
  /** Aborts running jobs, waits for them, and accepts no more. */
  readonly close: () => Promise<void>
}
