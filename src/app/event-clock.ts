import type { Clock } from '../clock.ts'
import type { EventLog, NewEvent } from '../events/log.ts'
import type { LogTap } from '../events/tapped-log.ts'
import type { Logger as Told } from './telemetry/logger.ts'

/** Milliseconds by which events may be ahead of the clock before that is logged, and before their time is no longer trusted. */
const TOLD_MS = 5_000
const BELIEVED_MS = 3_600_000

const states = {
  right: ['info', 'the clock is no more behind the newest event'],
  behind: [
    'warn',
    'the newest event is ahead of the clock: a clock was wrong, or is; events get its time until the clock has come there',
  ],
  far_behind: [
    'error',
    'the newest event is more than an hour ahead of the clock: expiries are judged by the clock alone',
  ],
} as const

/**
 * The time of the newest event that this instance knows, beside the clock of its machine. A clock that was ahead once and is right again
 * is behind the events made meanwhile: nothing that they say has happened may become undone.
 */
export const eventClock = (
  { now, monotonic }: Pick<Clock, 'now' | 'monotonic'>,
  log: Pick<Told, 'info' | 'warn' | 'error'>,
) => {
  let newest = new Date(0)
  let text = ''
  let state: keyof typeof states = 'right'

  const look = (aheadMs: number) => {
    const present = aheadMs > BELIEVED_MS ? 'far_behind' : aheadMs > TOLD_MS ? 'behind' : 'right'
    if (present === state) return
    state = present
    const [level, message] = states[state]
    log[level]({ ahead_seconds: Math.round(aheadMs / 1000) }, message)
  }
  const aheadMs = () => Math.max(0, newest.getTime() - now().getTime())
  const meet = (time: string) => {
    if (time > text) [text, newest] = [time, new Date(time)]
    look(aheadMs())
  }
  const meetAll = (events: readonly Pick<NewEvent, 'time'>[]) =>
    meet(events.reduce((latest, { time }) => (time > latest ? time : latest), ''))

  return {
    /** The present, by which an expiry is judged: the later of the clock and the newest event, but the clock where that event is more than an hour ahead of it. */
    present: (): Date => {
      const date = now()
      const ahead = newest.getTime() - date.getTime()
      if (ahead > 0 || state !== 'right') look(ahead)
      return ahead > 0 && ahead <= BELIEVED_MS ? newest : date
    },
    /** Time of the newest event, however far ahead it is. */
    newest: (): Date => newest,
    /** Milliseconds by which the newest event is ahead of the clock, 0 when it is not. */
    aheadMs: (): number => {
      const ahead = aheadMs()
      look(ahead)
      return ahead
    },
    /** Whether the clock has advanced as real time did since the last call, give or take an hour. A clock that jumped and stayed there is trusted by the next call. */
    steady: (): (() => boolean) => {
      let origin = now().getTime() - monotonic()
      return () => {
        const before = origin
        origin = now().getTime() - monotonic()
        return Math.abs(origin - before) <= BELIEVED_MS
      }
    },
    /** Records the times of events that are appended or followed. */
    tap: {
      onAppend: (events, { times }) => meet(times?.at(-1) ?? events.at(-1)!.time),
      onPage: meetAll,
    } satisfies LogTap,
    /** Learns the time of the last event that the log has. */
    begin: async (log: Pick<EventLog, 'head' | 'readAll'>): Promise<void> => {
      const head = await log.head()
      if (head > 0n) for await (const page of log.readAll(head - 1n, head)) meetAll(page)
    },
  }
}
