import type { Look } from '../adapters/embedded/look.ts'
import { fail } from '../cli/failure.ts'
import { enveloper } from '../commands/envelope.ts'
import { executor } from '../commands/execute.ts'
import { HISTORY_ID, history } from '../commands/history.ts'
import { reader } from '../events/define.ts'
import { historyEvents } from '../events/history.ts'
import type { EventLog } from '../events/log.ts'
import { operator } from './operator.ts'
import { orderedTime } from './ordered-time.ts'

type Told = Parameters<typeof orderedTime>[1]

/** How much was missing when an operator went on with it last. */
const acceptedBefore = async (log: Pick<EventLog, 'read'>) => {
  const read = reader(historyEvents)
  let { positionsMissing, revisionsMissing } = history.initial
  for await (const page of log.read(`${history.category}-${HISTORY_ID}`))
    for (const { type, data } of page) ({ positionsMissing, revisionsMissing } = read(type, data).data)
  return { positionsMissing, revisionsMissing }
}

/** Tells the history that it is damaged and that an operator went on with it. */
const record = async (
  log: EventLog,
  { findings, positionsMissing, revisionsMissing }: Look,
  reason: string,
  told: Told,
) => {
  const now = () => new Date()
  const time = orderedTime(now, told)
  await time.begin(log)
  const nothingPersonal = async (): Promise<never> => {
    throw new Error('an event of the history has no personal data')
  }
  const envelope = enveloper({ seal: nothingPersonal, open: nothingPersonal }, 'command-line', now, time.newest)
  const { execute } = executor(time.through(log), envelope)
  const data = {
    positionsMissing,
    revisionsMissing,
    findings: findings.map(({ where, found }) => `${where}: ${found}`),
  }
  await execute(history, HISTORY_ID, 'AcceptDamagedLog', data, { actor: operator(), reason })
}

/**
 * Sees that the log is as the service left it: guarded, and without more missing than was accepted before. Fails where it is not, naming what
 * was found, unless an operator goes on with it (`reason`); gives then who tells the history.
 */
export const logFits = async (
  log: Pick<EventLog, 'read'>,
  look: Look,
  file: string,
  reason: string | undefined,
  told: Told,
): Promise<((log: EventLog) => Promise<void>) | undefined> => {
  const before = look.findings.length === 0 ? undefined : await acceptedBefore(log)
  const isKnown =
    before === undefined ||
    (look.positionsMissing === before.positionsMissing &&
      look.revisionsMissing === before.revisionsMissing &&
      look.findings.every(({ check }) => check !== 'guards'))
  if (isKnown) {
    if (reason !== undefined)
      told.warn(
        {},
        'nothing is damaged that was not accepted, so --accept-damaged-log did nothing: take it out of the command',
      )
    return undefined
  }
  const found = look.findings.map(({ where, found }) => `${where}: ${found}`).join('; ')
  const what = `${file} is not as the service left it: ${found}.`
  if (reason === undefined)
    fail(
      'check',
      what,
      'See all of it with: rollcall log check. Bring the file back from the backup. Who has none starts once with: rollcall serve --accept-damaged-log REASON',
    )
  return async (log) => {
    await record(log, look, reason!, told)
    told.warn({ reason }, `a damaged log was accepted. ${what}`)
  }
}
