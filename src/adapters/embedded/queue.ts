import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf, refuse } from '../../base/errors.ts'
import type { Job, Progress, Queue, Run } from '../../jobs/queue.ts'
import { type Database, rowsOf } from './sqlite.ts'
import type { Channel } from './writer/channel.ts'

type Raw = [name: string, started: number, finished: number | null, error: string | null]

const runOf = ([name, startedAt, finished, error]: Raw, progress: Progress | undefined): Run => ({
  name,
  startedAt,
  ...(finished !== null && { finishedAt: finished }),
  ...(error !== null && { error }),
  ...(progress && { progress }),
})

/**
 * Runs jobs on timers that do not keep the process alive. The last run of each job is stored in the file of the log;
 * progress is kept in memory. `onError` is called for every failed run.
 */
export const embeddedQueue = (
  channel: Channel,
  reader: Database,
  clock: Clock,
  onError: (job: string, error: unknown) => void,
  reading: <T>(read: () => T) => T,
): Queue => {
  const lastRuns = rowsOf(reader, 'select name, started, finished, error from runs order by name')
  const stop = new AbortController()
  const timers = new Map<string, Timer>()
  const running = new Map<string, Promise<void>>()
  const progress = new Map<string, Progress>()
  const present = () => clock.now().getTime()

  const note = (name: string, started: number, finished: number | null, error: string | null) =>
    channel.call('ran', name, started, finished, error).catch((cause: unknown) => onError(name, cause))

  const runOnce = async ({ name, run }: Job, started: number) => {
    progress.delete(name)
    await note(name, started, null, null)
    let failure: string | null = null
    try {
      await run(stop.signal, (so) => progress.set(name, so))
    } catch (error) {
      failure = messageOf(error)
      if (!stop.signal.aborted) onError(name, error)
    }
    await note(name, started, present(), failure)
  }

  const wait = (job: Job, due: number) => {
    if (stop.signal.aborted) return
    const timer = clock.after(Math.max(0, due - present()), () => (present() < due ? wait(job, due) : start(job)))
    timers.set(job.name, timer.unref())
  }

  const start = (job: Job) => {
    const started = present()
    const ended = runOnce(job, started).then(() => {
      running.delete(job.name)
      wait(job, started + job.every)
    })
    running.set(job.name, ended)
  }

  return {
    schedule: async (job) => {
      if (stop.signal.aborted) refuse('backend_unavailable')
      if (timers.has(job.name) || running.has(job.name)) throw new Error(`job ${job.name} is already scheduled`)
      start(job)
    },
    runs: async () => reading(() => lastRuns.all() as Raw[]).map((raw) => runOf(raw, progress.get(raw[0]))),
    close: async () => {
      stop.abort()
      for (const timer of timers.values()) timer.cancel()
      await Promise.all(running.values())
    },
  }
}
