import type { Look } from '../../adapters/embedded/files/look.ts'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import { HISTORY_ID, history } from '../../commands/deployment.ts'
import { reader } from '../../events/define.ts'
import { historyEvents } from '../../events/deployment.ts'
import type { EventLog } from '../../events/log.ts'
import { type ClockListeners, operatorCommand } from './operator-command.ts'

/** Number of missing events at the last acceptance by an operator. */
const acceptedBefore = async (log: Pick<EventLog, 'read'>) => {
  const read = reader(historyEvents)
  let { positionsMissing, revisionsMissing } = history.initial
  for await (const page of log.read(`${history.category}-${HISTORY_ID}`))
    for (const { type, data } of page) ({ positionsMissing, revisionsMissing } = read(type, data).data)
  return { positionsMissing, revisionsMissing }
}

/**
 * Verifies that the log has its triggers and its index, and that no more events are missing than were accepted before.
 * Fails with the findings, unless the operator accepts them (`reason`). In that case it returns a function that records
 * the acceptance.
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
      look.findings.every(({ check }) => check === 'positions' || check === 'revisions'))
  if (isKnown) {
    if (reason !== undefined)
      listeners.warn(
        {},
        'the event log has no new damage, so --accept-damaged-log has no effect; remove it from the command',
      )
    return undefined
  }
  const findings = look.findings.map(({ where, found }) => `${where}: ${found}`)
  const what = `${file} is damaged: ${findings.join('; ')}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      'List the damage with: rollcall log check. Restore the file from the backup. Without a backup, start once with: rollcall serve --accept-damaged-log REASON',
    )
  return async (log) => {
    const { positionsMissing, revisionsMissing } = look
    const data = { positionsMissing, revisionsMissing, findings }
    await operatorCommand(log, clock, listeners, reason!, [history, HISTORY_ID, 'AcceptDamagedLog', data])
    listeners.warn({ reason }, `a damaged log was accepted. ${what}`)
  }
}
