import type { Clock, Timer } from '../../base/clock.ts'
import type { OnLargeHeaders } from '../../http/wire/connections.ts'
import type { Logger } from './logger.ts'

/** A spell is over when no request was refused for this time (ms). */
const QUIET_MS = 600_000

/** Logs spells of requests with too large headers: one WARN line at the first request, one INFO line after the last. */
export const largeHeaderSpells = (
  logger: Pick<Logger, 'info' | 'warn'>,
  { after }: Pick<Clock, 'after'>,
): OnLargeHeaders => {
  let requests = 0
  let quiet: Timer | undefined
  const over = (): void => {
    logger.info({ requests }, 'no request with too large headers has arrived for ten minutes')
    requests = 0
  }
  return (client) => {
    if (requests === 0)
      logger.warn(
        { client },
        'a request was refused because its headers are too large (431); if the client is an evaluation engine, its If-None-Match has grown too long, and it evaluates old flags until it is restarted',
      )
    requests++
    quiet?.cancel()
    quiet = after(QUIET_MS, over).unref()
  }
}
