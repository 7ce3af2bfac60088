import type { Clock, Timer } from '../../clock.ts'
import type { Logger } from '../telemetry/logger.ts'

/** What is under way when the end is asked for has so long to stop by itself before what it works on is closed. */
const STOP_MS = 4_000

/** The result of the work, or a rejection with the signal's reason soon after it aborts. */
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

/** Sees to it that the process is over `grace` milliseconds after it was asked to end, in order or not. */
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
      'the end took longer than server.shutdown_grace, and is not waited for: what was acknowledged is durable',
    )
    cut?.()
  }
  ending?.addEventListener('abort', () => void after(grace, late).unref(), { once: true })
}
