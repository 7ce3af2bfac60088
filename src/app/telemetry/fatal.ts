import type { Clock } from '../../base/clock.ts'
import type { Logger } from './logger.ts'

/** Shuts the service down after a fault that it cannot survive, within `patience` ms. Later faults are only logged. */
export type Fatal = (error: unknown, message: string, patience?: number) => void

/** Timeout of the shutdown in ms. After the timeout the process exits, because acknowledged writes are durable. */
const PATIENCE_MS = 20_000

const uncaught = {
  unhandledRejection: 'rollcall ends: a promise rejection is unhandled',
  uncaughtException: 'rollcall ends: an exception is uncaught',
}

/**
 * Handles faults of a service: logs an ERROR line with the stack, shuts down, and calls `exit`. With `exit`, the
 * process belongs to the service, and uncaught errors are faults too. Before `endWith`, a fault exits immediately.
 */
export const faults = (log: Logger, { after }: Pick<Clock, 'after'>, exit: (() => void) | undefined) => {
  let fallen = false
  let end: (() => Promise<void>) | undefined

  let patience = PATIENCE_MS

  const finish = async (): Promise<void> => {
    const late = after(patience, () => exit?.())
    try {
      await end?.()
    } catch (error) {
      log.error({ err: error }, 'the shutdown after a fault fails')
    }
    late.cancel()
    exit?.()
  }

  const fatal: Fatal = (error, message, within = PATIENCE_MS) => {
    log.error({ err: error instanceof Error ? error : new Error(String(error)) }, message)
    if (!fallen) patience = within
    if (!fallen && (end || exit)) void finish()
    fallen = true
  }

  const onUncaught = (error: unknown, origin: keyof typeof uncaught): void => fatal(error, uncaught[origin])
  if (exit) process.on('uncaughtException', onUncaught)

  return {
    fatal,
    /**
     * Sets the function that shuts the service down after a fault. If a fault has already happened, the shutdown starts
     * immediately.
     */
    endWith: (work: () => Promise<void>): void => {
      end = work
      if (fallen) void finish()
    },
    /** Stops handling the uncaught errors of the process. */
    release: (): void => void process.off('uncaughtException', onUncaught),
  }
}
