/** How far a run is: how many things are done, and how many there are where that is known. */
export type Progress = { readonly done: number; readonly total?: number }

/** Work that time does. It only sends commands, each a no-op when not due, so a run too many, too late or cut short is harmless. */
export type Job = {
  readonly name: string
  /** Milliseconds between runs; the first is at start. */
  readonly every: number
  /** Says how far it is as often as it likes: telling waits for nothing and never fails. */
  readonly run: (signal: AbortSignal, tell: (progress: Progress) => void) => Promise<void>
}

/** The last run of a job. Times are epoch milliseconds; `progress` is what it reported last; a new process need not know it. */
export type Run = {
  readonly name: string
  readonly startedAt: number
  readonly finishedAt?: number
  readonly error?: string
  readonly progress?: Progress
}

/**
 * PORT. Runs jobs: once at start and then once each interval over all instances that share the queue, never two runs of one job at
 * once. A failed run is reported to `onError` and tried again at the next interval. A queue out of reach blocks nobody and loses nothing.
 */
export type Queue = {
  readonly schedule: (job: Job) => Promise<void>
  readonly runs: () => Promise<readonly Run[]>
  /** Ends running jobs by their signal, waits for them, and takes no more. */
  readonly close: () => Promise<void>
}
