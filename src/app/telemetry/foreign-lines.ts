import { format } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from './logger.ts'
import { oncePerMinute } from './warnings.ts'

/**
 * Logs warnings of Node.js, and lines that packages print, as WARN lines instead of raw text on standard error. Equal
 * lines are logged once a minute. The result undoes this.
 */
export const logForeignLines = (log: Pick<Logger, 'warn'>, { now }: Pick<Clock, 'now'>): (() => void) => {
  const warn = oncePerMinute((record, message) => log.warn(record, message), now)
  const warned = ({ name, message }: Error): void =>
    warn(`${name} ${message}`, { warning: name, why: message }, 'Node.js or a package reports a warning')
  const printed = (...values: readonly unknown[]): void => {
    const why = format(...values)
    warn(why, { why }, 'a package printed a line')
  }
  const listeners = process.listeners('warning')
  const { warn: oldWarn, error: oldError } = console
  process.removeAllListeners('warning').on('warning', warned)
  Object.assign(console, { warn: printed, error: printed })
  return () => {
    process.off('warning', warned)
    for (const listener of listeners) process.on('warning', listener)
    Object.assign(console, { warn: oldWarn, error: oldError })
  }
}
