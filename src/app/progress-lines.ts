import type { Progress } from '../projections/engine/rebuild.ts'
import type { Logger } from './logger.ts'

const EVERY_MS = 5_000

/** Tells how far the read models are, at most every five seconds. `now` is in milliseconds. */
export const progressLines = (
  logger: Pick<Logger, 'info'>,
  now: () => number = () => performance.now(),
): ((progress: Progress) => void) => {
  let told = now()
  return ({ done, position, head }) => {
    if (now() - told < EVERY_MS) return
    told = now()
    const percent = Math.floor((100 * Number(position)) / Number(head))
    logger.info({ events: done, position: String(position), head: String(head), percent }, 'building read models')
  }
}
