type Limits = {
  /** How many run at once. */
  readonly running: number
  /** How many may wait. */
  readonly waiting: number
  /** Why work is not begun: the line is full, or its signal has aborted. */
  readonly refused: (signal: AbortSignal) => unknown
}

/** Limits concurrent work. Callers take turns, so a burst of one delays only itself. A full queue, or `signal`, rejects with what `refused` gives. */
export const bulkhead = ({ running, waiting, refused }: Limits) => {
  /** Waiting work by caller; the caller whose turn is next comes first. */
  const lines = new Map<string, Set<() => void>>()
  let [busy, queued] = [0, 0]

  const remove = (caller: string, start: () => void) => {
    const line = lines.get(caller)
    if (line?.delete(start)) queued--
    if (line?.size === 0) lines.delete(caller)
  }

  const turn = (caller: string, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const refuse = () => reject(refused(signal))
      if (queued >= waiting) return refuse()
      const leave = () => {
        remove(caller, start)
        refuse()
      }
      const start = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      signal.addEventListener('abort', leave, { once: true })
      lines.set(caller, (lines.get(caller) ?? new Set()).add(start))
      queued++
    })

  const next = (): (() => void) | undefined => {
    for (const [caller, line] of lines) {
      const [start] = line
      lines.delete(caller)
      lines.set(caller, line)
      remove(caller, start!)
      return start
    }
    return undefined
  }

  return async <T>(caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (busy < running) busy++
    else await turn(caller, signal)
    try {
      return await work()
    } finally {
      const start = next()
      if (start) start()
      else busy--
    }
  }
}
