import type { Clock } from '../../base/clock.ts'
import type { Progress } from '../../projections/engine/rebuild.ts'
import type { Logger } from './logger.ts'

const EVERY_MS = 5_000

/** Logs the progress of a rebuild, at most every five seconds. */
export const progressLines = (
  logger: Pick<Logger, 'info'>,
  { monotonic }: Pick<Clock, 'monotonic'>,
): ((progress: Progress) => void) => {
  let lastLine = monotonic()
  return ({ done, position, head }) => {
    if (monotonic() - lastLine < EVERY_MS) return
    lastLine = monotonic()
    const percent = Math.floor((100 * Number(position)) / Number(head))
    logger.info({ events: done, position: String(position), head: String(head), percent }, 'building read models')
  }
}
