/** Exit codes after a second signal of a kind. */
const EXITS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const

/**
 * Handles the signals of a service, also in the first process of a container. `ending` aborts on SIGTERM and SIGINT, and
 * on SIGHUP, which a closed terminal sends. A second of these signals ends the process immediately. After `onLogFile`,
 * SIGHUP reopens the log file instead.
 */
export const serviceSignals = () => {
  const ending = new AbortController()
  let reopen: (() => void) | undefined
  const end = (signal: keyof typeof EXITS): void => {
    if (ending.signal.aborted) process.exit(EXITS[signal])
    ending.abort()
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  process.on('SIGHUP', () => (reopen ? reopen() : end('SIGHUP')))
  // Without a listener, Node.js opens its debugger at this signal.
  process.on('SIGUSR1', () => undefined)
  return { ending: ending.signal, onLogFile: (open: () => void): void => void (reopen = open) }
}

/** Returns a signal that aborts when the process receives one of these signals, until `release` is called. */
export const abortOn = (...names: readonly ('SIGINT' | 'SIGTERM')[]) => {
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  for (const name of names) process.once(name, stop)
  return {
    signal: stopped.signal,
    release: () => {
      for (const name of names) process.off(name, stop)
    },
  }
}
