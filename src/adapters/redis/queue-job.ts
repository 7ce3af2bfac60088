import { type Job as Turn, Queue, UnrecoverableError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Job, Progress } from '../../jobs/queue.ts'
import type { LastRuns } from './queue-runs.ts'
import { soon } from './connection.ts'

/** A worker that dies gives its job up after about six seconds, however often that happens. */
const worker = {
  lockDuration: 5000,
  stalledInterval: 2000,
  maxStalledCount: 1_000_000,
  runRetryDelay: 1000,
  concurrency: 1,
} as const
/** What an instance cut short by its own end is taken over by another at once; what fails is not tried before the next interval. */
const retries = {
  attempts: 5,
  backoff: { type: 'fixed', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: { count: 10 },
} as const
const LOOK_MS = 1000
/** A connection that has not answered for so long is made anew. */
const DEAF_MS = 5000
const CLOSE_MS = 1000

export type JobParts = {
  readonly client: Redis
  readonly prefix: string
  readonly runs: LastRuns
  readonly signal: AbortSignal
  /** Milliseconds beyond its interval after which a job counts as forgotten. */
  readonly grace: number
  readonly onError: (job: string, error: unknown) => void
}

/**
 * One job over all instances: a queue of its own with a scheduler, and never more than one run. Beside it a watchdog that needs no Redis:
 * it makes the scheduler anew when Redis has been emptied, and runs the job itself when nobody has for its interval. All
 * durations are on this process's monotonic clock, for Redis goes by the clocks of its workers.
 */
export const bullmqJob = (job: Job, { client, prefix, runs, signal, grace, onError }: JobParts) => {
  const { name, every } = job
  const options = { connection: client, prefix }
  let running: Promise<void> | undefined
  /** When the job was last known to begin, anywhere; and which run that was. */
  let began = Number.NEGATIVE_INFINITY
  let known: number | undefined
  let alone = false

  const runOnce = async (turn: Turn | undefined) => {
    const startedAt = Date.now()
    let told: { readonly progress?: Progress } = {}
    const tell = (progress: Progress) => {
      told = { progress }
      if (runs.noteProgress({ name, startedAt, progress })) turn?.updateProgress(progress).catch(() => undefined)
    }
    began = performance.now()
    known = startedAt
    runs.note({ name, startedAt })
    try {
      await job.run(signal, tell)
      runs.note({ name, startedAt, finishedAt: Date.now(), ...told })
    } catch (error) {
      runs.note({
        name,
        startedAt,
        finishedAt: Date.now(),
        ...told,
        error: error instanceof Error ? error.message : String(error),
      })
      if (!signal.aborted) onError(name, error)
      throw error
    }
  }
  const run = (turn?: Turn) => (running ??= runOnce(turn).finally(() => (running = undefined)))

  const process = async (turn: Turn) => {
    if (signal.aborted) throw new Error('this instance is closing')
    if (running) return
    try {
      await run(turn)
    } catch (error) {
      if (!signal.aborted) throw new UnrecoverableError(error instanceof Error ? error.message : String(error))
    }
    if (signal.aborted) throw new Error('cut short: this instance is closing')
  }

  const queue = new Queue(name, options)
  const workers = new Worker(name, process, { ...options, ...worker })
  // The connection tells of its losses itself, and a lock lost to an outage is what the watchdog is for.
  queue.on('error', () => undefined)
  workers.on('error', () => undefined)

  /** What Redis knows, and that it knows the job at all. */
  const look = async () => {
    const [scheduler, active, last] = await Promise.all([
      queue.getJobScheduler(name),
      queue.getActiveCount(),
      runs.find(name),
    ])
    if (scheduler?.every !== every) {
      await queue.setGlobalConcurrency(1)
      await queue.upsertJobScheduler(name, { every }, { name, opts: retries })
    }
    return { active, startedAt: last?.startedAt }
  }
  let looking: Promise<{ readonly active: number; readonly startedAt: number | undefined }> | undefined
  let asked = 0

  const watch = async () => {
    if (!looking) {
      asked = performance.now()
      looking = look().finally(() => (looking = undefined))
    } else if (performance.now() - asked > DEAF_MS && client.status === 'ready') {
      asked = performance.now()
      client.disconnect(true)
    }
    const seen = await soon(looking)
    if (signal.aborted || running) return
    if (seen) {
      if (began === Number.NEGATIVE_INFINITY || (seen.startedAt !== undefined && seen.startedAt !== known))
        began = performance.now()
      known = seen.startedAt ?? known
      alone = false
    }
    const overdue = performance.now() - began - every - (alone ? 0 : grace)
    if (overdue < 0 || (seen && seen.active > 0)) return
    if (seen && overdue < grace) return void (await soon(queue.add(name, {}, { ...retries, jobId: `overdue-${name}` })))
    alone = true
    run().catch(() => undefined)
  }

  let watching: Promise<void> | undefined
  const tick = () => {
    watching ??= watch()
      .catch((error: unknown) => onError(name, error))
      .finally(() => (watching = undefined))
  }
  tick()
  const timer = setInterval(tick, LOOK_MS).unref()

  return {
    close: async (): Promise<void> => {
      clearInterval(timer)
      await running?.catch(() => undefined)
      // By force when Redis does not answer: the other way would wait for it with its timers running.
      const there = client.status === 'ready' && (await soon(client.ping(), CLOSE_MS / 2)) !== undefined
      await soon(Promise.all([workers.close(!there), queue.close()]), CLOSE_MS)
    },
  }
}
