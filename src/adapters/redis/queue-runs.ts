import type { Clock } from '../../base/clock.ts'
import type { Run } from '../../jobs/queue.ts'
import { type Client, soon } from './connection.ts'

const isRun = (value: unknown): value is Run =>
  typeof value === 'object' && value !== null && 'name' in value && 'startedAt' in value

const parse = (text: string): Run | undefined => {
  const value: unknown = JSON.parse(text)
  return isRun(value) ? value : undefined
}

/** The later of two runs of a job; for the same run, the finished state. */
const later = (a: Run, b: Run): Run => {
  if (a.startedAt !== b.startedAt) return a.startedAt > b.startedAt ? a : b
  return a.finishedAt === undefined ? b : a
}

/** Minimum interval in ms between progress updates of a run. */
const PROGRESS_MS = 1000

/**
 * Last run of each job. Redis stores the runs of all instances. Memory stores the runs of this instance, for outages of
 * Redis.
 */
export const lastRuns = (client: Client, clock: Clock, key: string, onError: (error: unknown) => void) => {
  const own = new Map<string, Run>()
  const sentAt = new Map<string, number>()
  /**
   * Stores a run without waiting for Redis. If Redis is unavailable, other instances do not see the run and run the job
   * themselves.
   */
  const note = (run: Run): void => {
    own.set(run.name, run)
    if (client.status === 'ready') client.hset(key, run.name, JSON.stringify(run)).catch(onError)
  }
  return {
    note,
    /**
     * Records progress, and sends it to Redis at most once a second; returns true if it was sent. The end of the run
     * sends the final progress.
     */
    noteProgress: (run: Run): boolean => {
      own.set(run.name, run)
      if (clock.monotonic() - (sentAt.get(run.name) ?? Number.NEGATIVE_INFINITY) < PROGRESS_MS) return false
      sentAt.set(run.name, clock.monotonic())
      note(run)
      return client.status === 'ready'
    },
    find: async (name: string): Promise<Run | undefined> => {
      const text = await client.hget(key, name)
      return text === null ? undefined : parse(text)
    },
    all: async (): Promise<readonly Run[]> => {
      const texts = client.status === 'ready' ? await soon(clock, client.hgetall(key)) : undefined
      const runs = new Map(own)
      for (const run of Object.values(texts ?? {}).map(parse)) {
        if (run) runs.set(run.name, later(run, runs.get(run.name) ?? run))
      }
      return [...runs.values()]
    },
  }
}

export type LastRuns = ReturnType<typeof lastRuns>
