/** The checkpoint follows after so many events, or so many milliseconds: what waits for it, such as a list, waits as long. */
const MARK_EVENTS = 1000
export const MARK_MS = 250

/** Marks when enough has been written since, or long enough ago; `since` tells how many events that are. */
export const markedSoon = (mark: () => Promise<void>) => {
  let [since, at] = [0, performance.now()]
  return {
    since: (): number => since,
    written: (events: number): void => void (since += events),
    mark: async (): Promise<void> => {
      if (since === 0 || (since < MARK_EVENTS && performance.now() - at < MARK_MS)) return
      await mark()
      ;[since, at] = [0, performance.now()]
    },
  }
}
