import { Queue as Bull, type Job as Turn, UnrecoverableError, Worker } from 'bullmq'
import type { Clock } from '../../base/clock.ts'
import { messageOf, refuse } from '../../base/errors.ts'
import type { Job, Progress, Queue } from '../../jobs/queue.ts'
import type { RedisPlace } from './address.ts'
import { type Client, connectRedis, familyOf, type Health, keysOf, PREFIX, soon } from './connection.ts'
import { heard, type LastRuns, lastRuns, missedTurn, redisView } from './queue-view.ts'

/** Worker settings. The job of a dead worker is released after about six seconds, however often that happens. */
const worker = {
  lockDuration: 5000,
  stalledInterval: 2000,
  maxStalledCount: 1_000_000,
  runRetryDelay: 1000,
  concurrency: 1,
} as const
const LOOK_MS = 1000
const CLOSE_MS = 1000
/** Pause in ms after Redis refuses a worker, which would otherwise retry immediately and for ever. */
const BACK_OFF_MS = 2000

/**
 * Releases the locks of a worker immediately. The `close` of a worker stops their timer only after Redis has answered,
 * which may never happen.
 */
const giveUpLocks = (worker: Worker): Promise<void> => worker['lockManager'].close()

type JobParts = {
  readonly clock: Clock
  readonly client: Client
  readonly prefix: string
  readonly runs: LastRuns
  readonly signal: AbortSignal
  /** Time in ms after its due time at which a job counts as forgotten. */
  readonly grace: number
  readonly onError: (job: string, error: unknown) => void
  readonly health: Health
}

/** Runs of one job in this process, at most one at a time. */
const ownRuns = (job: Job, { clock, runs, signal, onError, health }: JobParts) => {
  const { name, every } = job
  let running: Promise<void> | undefined
  /** Last known start of the job in any instance. */
  let began = Number.NEGATIVE_INFINITY
  let known: number | undefined
  /** Start of the previous run in this instance. Redis still returns it until the latest run is stored. */
  let replaced: number | undefined
  /** Last time the job was known to run in any instance. */
  let ran = Number.NEGATIVE_INFINITY
  const noteRunning = () => void (ran = clock.monotonic())

  const runOnce = async (turn: Turn | undefined) => {
    const startedAt = clock.now().getTime()
    let progressNote: { readonly progress?: Progress } = {}
    const noteProgress = (progress: Progress) => {
      progressNote = { progress }
      if (runs.noteProgress({ name, startedAt, progress })) turn?.updateProgress(progress).catch(health.failed)
    }
    began = clock.monotonic()
    replaced = known
    known = startedAt
    runs.note({ name, startedAt })
    try {
      await job.run(signal, noteProgress)
      runs.note({ name, startedAt, finishedAt: clock.now().getTime(), ...progressNote })
    } catch (error) {
      runs.note({ name, startedAt, finishedAt: clock.now().getTime(), ...progressNote, error: messageOf(error) })
      if (!signal.aborted) onError(name, error)
      throw error
    }
  }

  return {
    run: (turn?: Turn): Promise<void> =>
      (running ??= runOnce(turn).finally(() => {
        running = undefined
        noteRunning()
      })),
    running: (): Promise<void> | undefined => running,
    /** Records the start of the last run known to all instances. */
    note: (startedAt: number | undefined): void => {
      const isNew = startedAt !== undefined && startedAt !== known && startedAt !== replaced
      if (began === Number.NEGATIVE_INFINITY || isNew) began = clock.monotonic()
      if (isNew) known = startedAt
    },
    /** Records that the job is running in some instance. */
    noteRunning,
    /**
     * Milliseconds since the job was due: one interval after the start of its last run, but not before the end of that
     * run.
     */
    overdue: (): number => clock.monotonic() - Math.max(began + every, ran),
  }
}

/** Opens the queue and the worker of a job. The worker pauses after an error of a Redis that answers. */
const openQueue = (job: Job, parts: JobParts, process: (turn: Turn) => Promise<void>) => {
  const { clock, client, prefix, signal, health } = parts
  const { name } = job
  const options = { connection: client, prefix }
  const queue = new Bull(name, options)
  const workers = new Worker(name, process, { ...options, ...worker })
  const backOff = (error: Error) => {
    // The watchdog handles a lock that is lost in an outage or on a suspended machine.
    if (/\block\b/i.test(error.message)) return
    health.failed(error)
    if (client.status !== 'ready' || workers.isPaused() || signal.aborted) return
    void workers.pause(true)
    clock.after(BACK_OFF_MS, () => void (signal.aborted || workers.resume())).unref()
  }
  queue.on('error', health.failed)
  workers.on('error', backOff)
  return { queue, workers, look: redisView(job, queue, parts) }
}

/**
 * One job over all instances: a BullMQ queue of its own with a scheduler, and at most one run at a time. A watchdog
 * works without Redis: it recreates the scheduler after Redis has been emptied, and runs the job itself if no instance
 * did so within the interval. All durations use the local monotonic clock, because Redis uses the clocks of its
 * workers.
 */
export const bullmqJob = (job: Job, parts: JobParts) => {
  const { clock, client, signal, grace, onError, health } = parts
  const { name } = job
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
    if (signal.aborted) throw new Error('the job was interrupted, because this instance is closing')
  }

  let opened: ReturnType<typeof openQueue> | undefined
  let opening: Promise<void> | undefined
  /**
   * Opens the queue after Redis has answered INFO. BullMQ begins with the command INFO and never repeats it after a
   * refusal.
   */
  const openOnce = (): Promise<void> =>
    (opening ??= client
      .info('server')
      .then(() => {
        if (!signal.aborted) opened ??= openQueue(job, parts, process)
      })
      .finally(() => (opening = undefined)))
  const look = async () => {
    if (!opened) await heard(clock, openOnce(), health)
    return opened?.look()
  }

  const watch = async () => {
    const seen = await look()
    if (signal.aborted || own.running()) return
    if (seen) {
      own.note(seen.startedAt)
      alone = false
      if (seen.runs) return own.noteRunning()
    }
    const overdue = own.overdue() - (alone ? 0 : grace)
    if (overdue < 0) return
    if (seen && opened && overdue < grace) {
      await heard(clock, opened.queue.add(name, {}, missedTurn(name, seen.startedAt)), health)
      return
    }
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
  const timer = clock.every(LOOK_MS, tick)

  return {
    close: async (): Promise<void> => {
      timer.cancel()
      await own.running()?.catch(() => undefined)
      if (!opened) return
      // Close by force if Redis does not answer; a normal close would wait for it while its timers run.
      const isReady = client.status === 'ready' && (await soon(clock, client.ping(), CLOSE_MS / 2)) !== undefined
      await soon(clock, Promise.all([opened.workers.close(!isReady), opened.queue.close()]), CLOSE_MS)
      await giveUpLocks(opened.workers)
    },
  }
}

type BullmqOptions = {
  readonly clock: Clock
  /** Called for every failed run of a job in this instance. */
  readonly onError: (job: string, error: unknown) => void
  readonly health: Health
  /** Called with each eviction policy of Redis that differs from the previous one. */
  readonly onPolicy?: (policy: string) => void
  /**
   * Prefix of all keys in Redis, put in braces so that they are on one node of a cluster. Instances with the same
   * prefix share their jobs.
   */
  readonly prefix?: string
  /** Time in ms after its due time at which a job counts as forgotten and runs here. */
  readonly grace?: number
}

/**
 * Jobs in BullMQ, each once per interval over all instances. Redis only schedules: during an outage or after data loss,
 * every instance runs its jobs itself; concurrent runs are harmless. No operation waits for Redis; `close` waits for
 * running jobs and at most two seconds for Redis.
 */
export const openBullmq = async (
  place: RedisPlace,
  { clock, onError, health, onPolicy, prefix: word = PREFIX, grace = 3000 }: BullmqOptions,
): Promise<Queue> => {
  const stop = new AbortController()
  /** Ignores errors caused by the shutdown itself. */
  const failed = (error: unknown) => {
    if (!stop.signal.aborted) health.failed(error)
  }
  const ownHealth: Health = { failed, worked: health.worked }
  const client = connectRedis(place, true, ownHealth)
  let known: string | undefined
  const disconnect = familyOf(client, (policy) => {
    if (policy !== known) onPolicy?.(policy)
    known = policy
  })
  const prefix = keysOf(word)
  const runs = lastRuns(client, clock, `${prefix}:runs`, failed)
  const jobs = new Map<string, ReturnType<typeof bullmqJob>>()
  let closing: Promise<void> | undefined

  const close = async () => {
    stop.abort()
    await Promise.all(Array.from(jobs.values(), (job) => job.close()))
    disconnect()
  }

  return {
    schedule: async (job: Job) => {
      if (stop.signal.aborted) refuse('backend_unavailable')
      if (jobs.has(job.name)) throw new Error(`job ${job.name} is already scheduled`)
      jobs.set(
        job.name,
        bullmqJob(job, { clock, client, prefix, runs, signal: stop.signal, grace, onError, health: ownHealth }),
      )
    },
    runs: runs.all,
    close: () => (closing ??= close()),
  }
}
