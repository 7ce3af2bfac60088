import type { Clock } from '../../base/clock.ts'
import type { EventLog, LogTap, NewEvent } from '../../events/log.ts'
import type { Logger } from '../telemetry/logger.ts'

/**
 * Limits in ms by which events may be ahead of the clock: beyond the first, that is logged; beyond the second, their
 * time is not trusted.
 */
const TOLD_MS = 5_000
const BELIEVED_MS = 3_600_000

const states = {
  right: ['info', 'the clock has reached the time of the newest event'],
  behind: [
    'warn',
    'the newest event has a later time than the clock, so a clock is or was wrong; new events get the time of the newest one until the clock reaches it',
  ],
  far_behind: [
    'error',
    'the newest event is more than an hour ahead of the clock, so tokens expire by the clock alone; check the clock',
  ],
} as const

/**
 * Time of the newest known event, in addition to the clock of the machine. If a clock that was ahead is corrected, it
 * is behind the events written before, and their effects must remain.
 */
export const eventClock = (
  { now, monotonic }: Pick<Clock, 'now' | 'monotonic'>,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
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
  }
  const meetAll = (events: readonly Pick<NewEvent, 'time'>[]) => {
    meet(events.reduce((latest, { time }) => (time > latest ? time : latest), ''))
    look(aheadMs())
  }

  return {
    /**
     * Current time for checks of expiry: the later of the clock and the newest event; the clock if that event is more
     * than an hour ahead.
     */
    present: (): Date => {
      const date = now()
      const ahead = newest.getTime() - date.getTime()
      if (ahead > 0 || state !== 'right') look(ahead)
      return ahead > 0 && ahead <= BELIEVED_MS ? newest : date
    },
    /** Time of the newest event, without a limit. */
    newest: (): Date => newest,
    /** Milliseconds by which the newest event is ahead of the clock; else 0. */
    aheadMs: (): number => {
      const ahead = aheadMs()
      look(ahead)
      return ahead
    },
    /**
     * Returns a function that checks whether the clock advanced like real time since its last call, with a tolerance of
     * an hour. The first call after a jump returns false, and the next call accepts the new clock.
     */
    steady: (): (() => boolean) => {
      let origin = now().getTime() - monotonic()
      return () => {
        const before = origin
        origin = now().getTime() - monotonic()
        return Math.abs(origin - before) <= BELIEVED_MS
      }
    },
    /**
     * Records the times of events that were appended or received from the log. An event received from the log that is
     * ahead of the clock is logged.
     */
    tap: {
      onAppend: (events, { times }) => meet(times?.at(-1) ?? events.at(-1)!.time),
      onPage: meetAll,
    } satisfies LogTap,
    /** Reads the time of the last event of the log. */
    begin: async (log: Pick<EventLog, 'head' | 'readAll'>): Promise<void> => {
      const head = await log.head()
      if (head > 0n) for await (const page of log.readAll(head - 1n, head)) meetAll(page)
    },
  }
}
