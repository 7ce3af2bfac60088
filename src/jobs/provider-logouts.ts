import type { Stored } from '../events/log.ts'
import type { Job } from './queue.ts'

/** Interval in ms of the search for interrupted logouts. */
const EVERY_MS = 60_000
/** Age in ms of the logouts that are searched after the first run. */
const RECENT_MS = 900_000

type LogoutSources = {
  /** Events of the accepted logout tokens since a time (RFC 3339 UTC). */
  readonly received: (since: string, signal: AbortSignal) => AsyncIterable<Stored>
  /** Finishes the logout of such an event if it was interrupted. */
  readonly resume: (event: Stored) => Promise<void>
  /** Lifetime of a session in ms: older logouts have nothing left to end. */
  readonly sessionLife: number
  readonly now: () => Date
}

/** Finishes the logouts at providers that were accepted and not completed, because an instance or a store failed. */
export const unfinishedLogouts = ({ received, resume, sessionLife, now }: LogoutSources): Job => {
  let life = sessionLife
  return {
    name: 'provider-logouts',
    every: EVERY_MS,
    run: async (signal) => {
      const since = new Date(now().getTime() - life).toISOString()
      for await (const event of received(since, signal)) if (!signal.aborted) await resume(event)
      if (!signal.aborted) life = Math.min(sessionLife, RECENT_MS)
    },
  }
}
