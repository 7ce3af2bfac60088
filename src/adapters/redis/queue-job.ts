import { Queue, type Job as Turn, UnrecoverableError, Worker } from 'bullmq'
import type { Clock } from '../../clock.ts'
import type { Job, Progress } from '../../jobs/queue.ts'
import { type Client, type Health, soon } from './connection.ts'
import type { LastRuns } from './queue-runs.ts'
import { heard, missedTurn, redisView } from './queue-view.ts'

/** A worker that dies gives its job up after about six seconds, however often that happens. */
const worker = {
  lockDuration: 5000,
  stalledInterval: 2000,
  maxStalledCount: 1_000_000,
  runRetryDelay: 1000,
  concurrency: 1,
} as const
const LOOK_MS = 1000
const CLOSE_MS = 1000
/** What Redis refuses a worker asks for again at once, for ever: so long it is held back. */
const BACK_OFF_MS = 2000

/** Gives up the locks of a worker at once: its `close` ends their timer after Redis has answered, so it may never. */
const giveUpLocks = (worker: Worker): Promise<void> => worker['lockManager'].close()

export type JobParts = {
  readonly clock: Clock
  readonly client: Client
  readonly prefix: string
  readonly runs: LastRuns
  readonly signal: AbortSignal
  /** Milliseconds beyond its interval after which a job counts as forgotten. */
  readonly grace: number
  readonly onError: (job: string, error: unknown) => void
  readonly health: Health
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The runs of one job in this process, never two at once. */
const ownRuns = (job: Job, { clock, runs, signal, onError, health }: JobParts) => {
  const { name, every } = job
  let running: Promise<void> | undefined
  /** When the job was last known to begin, anywhere; and which run that was. */
  let began = Number.NEGATIVE_INFINITY
  let known: number | undefined
  /** The run before the last of this instance, which Redis still tells of until it has heard of the last. */
  let replaced: number | undefined
  /** When it was last known to run, anywhere. */
  let ran = Number.NEGATIVE_INFINITY
  const noteRunning = () => void (ran = clock.monotonic())

  const runOnce = async (turn: Turn | undefined) => {
    const startedAt = clock.now().getTime()
    let progressNote: { readonly progress?: Progress } = {}
    const tell = (progress: Progress) => {
      progressNote = { progress }
      if (runs.noteProgress({ name, startedAt, progress })) turn?.updateProgress(progress).catch(health.failed)
    }
    began = clock.monotonic()
    replaced = known
    known = startedAt
    runs.note({ name, startedAt })
    try {
      await job.run(signal, tell)
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
    /** Takes note of the last run that all instances know of. */
    note: (startedAt: number | undefined): void => {
      const isNew = startedAt !== undefined && startedAt !== known && startedAt !== replaced
      if (began === Number.NEGATIVE_INFINITY || isNew) began = clock.monotonic()
      if (isNew) known = startedAt
    },
    /** Takes note that it runs just now, in whichever instance. */
    noteRunning,
    /** Milliseconds for which the job has been due: an interval after its last run began, and never before that was over. */
    overdue: (): number => clock.monotonic() - Math.max(began + every, ran),
  }
}

/**
 * One job over all instances: a queue of its own with a scheduler, and never more than one run. Beside it a watchdog that needs no Redis:
 * it makes the scheduler anew when Redis has been emptied, and runs the job itself when nobody has for its interval. All
 * durations are on this process's monotonic clock, for Redis goes by the clocks of its workers.
 */
export const bullmqJob = (job: Job, parts: JobParts) => {
  const { clock, client, prefix, signal, grace, onError, health } = parts
  const { name } = job
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

  const open = () => {
    const queue = new Queue(name, options)
    const workers = new Worker(name, process, { ...options, ...worker })
    const backOff = (error: Error) => {
      // A lock lost by an outage or a suspended machine is what the watchdog is for.
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
  let opened: ReturnType<typeof open> | undefined
  let opening: Promise<void> | undefined
  /** BullMQ begins with INFO, and never again where that was denied: so it begins once that is answered. */
  const openOnce = (): Promise<void> =>
    (opening ??= client
      .info('server')
      .then(() => {
        if (!signal.aborted) opened ??= open()
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
      // By force when Redis does not answer: the other way would wait for it with its timers running.
      const there = client.status === 'ready' && (await soon(clock, client.ping(), CLOSE_MS / 2)) !== undefined
      await soon(clock, Promise.all([opened.workers.close(!there), opened.queue.close()]), CLOSE_MS)
      await giveUpLocks(opened.workers)
    },
  }
}
