type Limits = {
  /** Maximum number of concurrent tasks. */
  readonly running: number
  /** Maximum length of the queue. */
  readonly waiting: number
  /** Error for a task that is not started because the queue is full or its signal aborted. */
  readonly refused: (signal: AbortSignal) => unknown
}

/**
 * Limits concurrent work (bulkhead). Callers are served round-robin, so a burst of one delays only itself. A full queue
 * or an aborted `signal` rejects with the error of `refused`.
 */
export const bulkhead = ({ running, waiting, refused }: Limits) => {
  /** Queued tasks by caller. The caller at the front of the queue is served next. */
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
