import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Time in ms for running work to stop by itself after the abort, before its stores are closed. */
const STOP_MS = 4_000

/**
 * Resolves with the result of the work. Rejects with the reason of the signal if the work does not stop soon after the
 * abort.
 */
export const unlessEnding = async <T>(
  { after }: Pick<Clock, 'after'>,
  work: Promise<T>,
  ending: AbortSignal | undefined,
): Promise<T> => {
  if (!ending) return work
  let timer: Timer | undefined
  let stop = (): void => undefined
  const left = new Promise<never>((_, reject) => {
    stop = () => void (timer = after(STOP_MS, () => reject(ending.reason as Error)))
  })
  if (ending.aborted) stop()
  else ending.addEventListener('abort', stop)
  try {
    return await Promise.race([work, left])
  } finally {
    ending.removeEventListener('abort', stop)
    timer?.cancel()
  }
}

/** Ends the process `grace` milliseconds after the abort, even if the shutdown is incomplete. */
export const endInTime = (
  { after }: Pick<Clock, 'after'>,
  ending: AbortSignal | undefined,
  grace: number,
  logger: Pick<Logger, 'warn'>,
  cut: (() => void) | undefined,
): void => {
  const late = () => {
    const left = process.getActiveResourcesInfo().length
    logger.warn(
      { left },
      'the shutdown takes longer than server.shutdown_grace, so running requests are aborted; no acknowledged write is lost',
    )
    cut?.()
  }
  ending?.addEventListener('abort', () => void after(grace, late).unref(), { once: true })
}
