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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The runs of one job in this process, never two at once. */
const ownRuns = (job: Job, { runs, signal, onError }: Pick<JobParts, 'runs' | 'signal' | 'onError'>) => {
  const { name } = job
  let running: Promise<void> | undefined
  /** When the job was last known to begin, anywhere; and which run that was. */
  let began = Number.NEGATIVE_INFINITY
  let known: number | undefined

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
      runs.note({ name, startedAt, finishedAt: Date.now(), ...told, error: messageOf(error) })
      if (!signal.aborted) onError(name, error)
      throw error
    }
  }

  return {
    run: (turn?: Turn): Promise<void> => (running ??= runOnce(turn).finally(() => (running = undefined))),
    running: (): Promise<void> | undefined => running,
    /** Takes note of the last run that all instances know of. */
    note: (startedAt: number | undefined): void => {
      if (began === Number.NEGATIVE_INFINITY || (startedAt !== undefined && startedAt !== known))
        began = performance.now()
      known = startedAt ?? known
    },
    /** Milliseconds since the job was last known to begin. */
    age: (): number => performance.now() - began,
  }
}

/** Asks Redis about a job, one question at a time: whether it runs and began, and that it is scheduled at all. */
const redisView = ({ name, every }: Job, queue: Queue, { client, runs }: Pick<JobParts, 'client' | 'runs'>) => {
  let looking: Promise<{ readonly active: number; readonly startedAt: number | undefined }> | undefined
  let asked = 0
  let settled = false

  const look = async () => {
    const [scheduler, active, last] = await Promise.all([
      queue.getJobScheduler(name),
      queue.getActiveCount(),
      runs.find(name),
    ])
    // Who was configured last says the interval, once: two that differ would each make the other's anew for ever.
    if (!scheduler || (!settled && scheduler.every !== every)) {
      await queue.setGlobalConcurrency(1)
      await queue.upsertJobScheduler(name, { every }, { name, opts: retries })
    }
    settled = true
    return { active, startedAt: last?.startedAt }
  }

  /** Undefined when Redis does not answer. */
  return async () => {
    if (!looking) {
      asked = performance.now()
      looking = look().finally(() => (looking = undefined))
    } else if (performance.now() - asked > DEAF_MS && client.status === 'ready') {
      asked = performance.now()
      client.disconnect(true)
    }
    return soon(looking)
  }
}

/**
 * One job over all instances: a queue of its own with a scheduler, and never more than one run. Beside it a watchdog that needs no Redis:
 * it makes the scheduler anew when Redis has been emptied, and runs the job itself when nobody has for its interval. All
 * durations are on this process's monotonic clock, for Redis goes by the clocks of its workers.
 */
export const bullmqJob = (job: Job, parts: JobParts) => {
  const { client, prefix, signal, grace, onError } = parts
  const { name, every } = job
  const options = { connection: client, prefix }
  const own = ownRuns(job, parts)
  let alone = false

  const process = async (turn: Turn) => {
    if (signal.aborted) throw new Error('this instance is closing')
    if (own.running()) return
    try {
      await own.run(turn)
    } catch (error) {
      if (!signal.aborted) throw new UnrecoverableError(messageOf(error))
    }
    if (signal.aborted) throw new Error('cut short: this instance is closing')
  }

  const queue = new Queue(name, options)
  const workers = new Worker(name, process, { ...options, ...worker })
  // The connection tells of its losses itself, and a lock lost to an outage is what the watchdog is for.
  queue.on('error', () => undefined)
  workers.on('error', () => undefined)
  const look = redisView(job, queue, parts)

  const watch = async () => {
    const seen = await look()
    if (signal.aborted || own.running()) return
    if (seen) {
      own.note(seen.startedAt)
      alone = false
    }
    const overdue = own.age() - every - (alone ? 0 : grace)
    if (overdue < 0 || (seen && seen.active > 0)) return
    if (seen && overdue < grace) return void (await soon(queue.add(name, {}, { ...retries, jobId: `overdue-${name}` })))
    alone = true
    own.run().catch(() => undefined)
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
      await own.running()?.catch(() => undefined)
      // By force when Redis does not answer: the other way would wait for it with its timers running.
      const there = client.status === 'ready' && (await soon(client.ping(), CLOSE_MS / 2)) !== undefined
      await soon(Promise.all([workers.close(!there), queue.close()]), CLOSE_MS)
    },
  }
}
