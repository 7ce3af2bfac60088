import { hostname, userInfo } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import type { Decider } from '../../commands/decider.ts'
import { enveloper } from '../../commands/envelope.ts'
import { type Execute, executor } from '../../commands/execute.ts'
import type { AnyEvent } from '../../events/define.ts'
import type { EventLog } from '../../events/log.ts'
import { tappedLog } from '../../events/log.ts'
import type { Actor } from '../../events/meta.ts'
import { eventClock } from './event-clock.ts'

const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    // A container may run under a uid without a user name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** The operator at the command line: the user name and the host name. */
export const operator = (): Actor => ({ kind: 'operator', user: userName(), host: hostname() })

/** Logger for the clock of an operator's command. */
export type ClockListeners = Parameters<typeof eventClock>[1]

const nothingPersonal = async (): Promise<never> => {
  throw new Error('the event of an operator command must not contain personal data')
}

/**
 * Executes a command of the operator before the service exists. Such a command needs no encryption keys, and takes its
 * time from the log.
 */
export const operatorCommand = async <
  S,
  C extends Readonly<Record<string, object>>,
  E extends AnyEvent,
  K extends keyof C & string,
>(
  log: EventLog,
  clock: Clock,
  listeners: ClockListeners,
  reason: string,
  [decider, id, name, command]: readonly [decider: Decider<S, C, E>, id: string, name: K, command: C[K]],
): ReturnType<Execute> => {
  const time = eventClock(clock, listeners)
  await time.begin(log)
  const envelope = enveloper({ seal: nothingPersonal, open: nothingPersonal }, 'command-line', clock.now, time.newest)
  const { execute } = executor(tappedLog(log, [time.tap]), envelope, { clock })
  return execute(decider, id, name, command, { actor: operator(), reason })
}
