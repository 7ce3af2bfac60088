import type { Look } from '../../adapters/embedded/files/look.ts'
import type { Clock } from '../../clock.ts'
import { HISTORY_ID, history } from '../../commands/history.ts'
import { reader } from '../../events/define.ts'
import { historyEvents } from '../../events/history.ts'
import type { EventLog } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { type ClockListeners, operatorCommand } from './operator-command.ts'

/** How much was missing when an operator went on with it last. */
const acceptedBefore = async (log: Pick<EventLog, 'read'>) => {
  const read = reader(historyEvents)
  let { positionsMissing, revisionsMissing } = history.initial
  for await (const page of log.read(`${history.category}-${HISTORY_ID}`))
    for (const { type, data } of page) ({ positionsMissing, revisionsMissing } = read(type, data).data)
  return { positionsMissing, revisionsMissing }
}

/**
 * Sees that the log is as the service left it: guarded, and without more missing than was accepted before. Fails where it is not, naming what
 * was found, unless an operator goes on with it (`reason`); gives then who tells the history.
 */
export const verifyLog = async (
  log: Pick<EventLog, 'read'>,
  look: Look,
  file: string,
  reason: string | undefined,
  clock: Clock,
  listeners: ClockListeners,
): Promise<((log: EventLog) => Promise<void>) | undefined> => {
  const before = look.findings.length === 0 ? undefined : await acceptedBefore(log)
  const isKnown =
    before === undefined ||
    (look.positionsMissing === before.positionsMissing &&
      look.revisionsMissing === before.revisionsMissing &&
      look.findings.every(({ check }) => check !== 'guards'))
  if (isKnown) {
    if (reason !== undefined)
      listeners.warn(
        {},
        'nothing is damaged that was not accepted, so --accept-damaged-log did nothing: take it out of the command',
      )
    return undefined
  }
  const findings = look.findings.map(({ where, found }) => `${where}: ${found}`)
  const what = `${file} is not as the service left it: ${findings.join('; ')}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      'See all of it with: rollcall log check. Bring the file back from the backup. Who has none starts once with: rollcall serve --accept-damaged-log REASON',
    )
  return async (log) => {
    const { positionsMissing, revisionsMissing } = look
    const data = { positionsMissing, revisionsMissing, findings }
    await operatorCommand(log, clock, listeners, reason!, [history, HISTORY_ID, 'AcceptDamagedLog', data])
    listeners.warn({ reason }, `a damaged log was accepted. ${what}`)
  }
}
