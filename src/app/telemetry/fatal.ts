import type { Clock } from '../../clock.ts'
import type { Logger } from './logger.ts'

/** Shuts the service down in order after a fault that it cannot survive, within so many milliseconds. The first fault does so; later ones are only logged. */
export type Fatal = (error: unknown, message: string, patience?: number) => void

/** Milliseconds that the shutdown may take. Then the process just exits: what was acknowledged is durable. */
const PATIENCE_MS = 20_000

/** Log messages for uncaught errors, by their source. */
const uncaught = {
  unhandledRejection: 'rollcall ends: a promise was rejected and nobody took it',
  uncaughtException: 'rollcall ends: an error was thrown and nobody caught it',
}

/**
 * What faults of one service come to: an ERROR line with the stack, its end in order, then `exit`. With an `exit` the process is the
 * service's own, and what nobody catches anywhere in it is such a fault too. Before there is a service to end, `exit` comes at once.
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
      log.error({ err: error }, 'rollcall did not end in order')
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
    /** From now on a fault ends the service by `work`; one that came before does so now. */
    endWith: (work: () => Promise<void>): void => {
      end = work
      if (fallen) void finish()
    },
    /** The process is nobody's any more. */
    release: (): void => void process.off('uncaughtException', onUncaught),
  }
}
