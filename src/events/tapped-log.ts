import type { Appended, EventLog, Expected, NewEvent, Stored } from './log.ts'

/** Observes the events of a log, or controls its appends. */
export type LogTap = {
  /** The observer is called after each successful append. */
  readonly onAppend?: (events: readonly NewEvent[], appended: Appended) => void
  /** Called with each page of `follow`, before the follower receives it. */
  readonly onPage?: (page: readonly Stored[]) => void
  /** Runs an append, or refuses it. */
  readonly aroundAppend?: (append: () => Promise<Appended>) => Promise<Appended>
}

/**
 * Adds observers to an event log. Observers run in the given order. The `aroundAppend` of a later tap wraps that of an
 * earlier one.
 */
export const tappedLog = (log: EventLog, taps: readonly LogTap[]): EventLog => ({
  ...log,
  append: (stream: string, events: readonly NewEvent[], expected: Expected): Promise<Appended> => {
    const appendAndReport = async () => {
      const appended = await log.append(stream, events, expected)
      for (const { onAppend } of taps) onAppend?.(events, appended)
      return appended
    }
    return taps.reduce<() => Promise<Appended>>(
      (inner, { aroundAppend }) => (aroundAppend ? () => aroundAppend(inner) : inner),
      appendAndReport,
    )()
  },
  follow: async function* (after, signal) {
    for await (const page of log.follow(after, signal)) {
      for (const { onPage } of taps) onPage?.(page)
      yield page
    }
  },
})
