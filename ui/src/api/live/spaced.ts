/** Time (ms) between the starts of two runs. */
const APART_MS = 2_000

/**
 * Runs a task on request, one run at a time and one in 2 s. Requests during a run or within 2 s cause one more run
 * afterwards.
 */
export const spaced = (task: (signal: AbortSignal) => Promise<void>) => {
  let running: AbortController | undefined
  let timer: number | undefined
  let isWanted = false
  const begin = async (): Promise<void> => {
    const mine = new AbortController()
    running = mine
    isWanted = false
    try {
      await task(mine.signal)
    } finally {
      if (running === mine) running = undefined
    }
    if (isWanted) ask()
  }
  const ask = (): void => {
    isWanted = true
    if (running || timer !== undefined) return
    timer = window.setTimeout(() => {
      timer = undefined
      if (isWanted) ask()
    }, APART_MS)
    void begin()
  }
  return {
    ask,
    isRunning: (): boolean => running !== undefined,
    /** Ends the run, and drops the requests for others. */
    stop: (): void => {
      running?.abort()
      running = undefined
      window.clearTimeout(timer)
      timer = undefined
      isWanted = false
    },
  }
}
