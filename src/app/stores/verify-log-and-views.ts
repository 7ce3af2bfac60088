import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { EventLog, LogIdentity } from '../../events/log.ts'
import {
  type Cause,
  type Continuity,
  causes,
  continuityOf,
  goneOf,
  inspectViews,
} from '../../projections/engine/continuity.ts'
import { type Progress, rebuild } from '../../projections/engine/rebuild.ts'
import type { View } from '../../projections/views.ts'
import { readModelsOf } from './read-models.ts'
import type { Stores } from './stores.ts'

/**
 * A deposed leader of EventStoreDB may serve an older log, for 1.45 s in tests. Therefore a deviation of the log is
 * checked again after this delay in ms.
 */
const CONFIRM_MS = 2_000
const AGAIN_MS = 500

type VerificationLog = {
  readonly error: (record: object, message: string) => void
  readonly info: (message: string) => void
}
type VerifiedStores = Pick<Stores, 'log' | 'views' | 'binding' | 'alone' | 'writes' | 'pepper'>
type Behind = Extract<Continuity, { is: 'behind' }>

/** Read models that were rebuilt because they did not match the log. */
export type Rebuilt = { readonly cause: Cause; readonly eventsGone: number; readonly readModels: string[] }

const causeTexts: Readonly<Record<Cause, string>> = {
  another_log: 'they belong to a different event log',
  shorter: 'the event log is shorter than the log that they contain: acknowledged events are lost',
  forked: 'the event log differs from the log that they contain: acknowledged events are lost',
  rows_missing: 'rows of the read models are missing or outdated',
}

/** Fails because the log belongs to another deployment, with advice for the operator. The read models are unchanged. */
const refuseOtherLog = (alone: boolean, found: string | undefined, known: string): never => {
  const is = found === undefined ? 'it is empty' : `its first event is ${found}`
  const meant = alone
    ? 'views.sqlite* and the binding (sqlite3 subjects.sqlite "delete from binding")'
    : 'the MongoDB database of the read models, including its keys'
  return fail(
    'failed',
    `This event log belongs to another deployment: ${is}, expected first event ${known}.`,
    `Nothing was changed. Restore the right event log, or correct its address. To use this log, delete the data of the previous log: ${meant}; see docs/guides/operations.md.`,
  )
}

/** Discards unfinished rebuilds, because they may contain events that the log no longer has. */
const forget = async (views: Stores['views'], projection: View): Promise<void> => {
  for (let left = true; left; ) {
    const building = await views.build(projection)
    left = building.checkpoint !== undefined
    await building.discard()
  }
}

/** Number of events of a log, of which it reads all. */
export const eventsIn = async (log: Pick<EventLog, 'readAll'>): Promise<number> => {
  let events = 0
  for await (const page of log.readAll(0n)) events += page.length
  return events
}

const rebuiltOf = ({ views }: Behind, events: number, head: bigint): Rebuilt => ({
  cause: causes.find((one) => views.some(({ cause }) => cause === one))!,
  eventsGone: Math.max(...views.map((unfit) => goneOf(unfit, events, head))),
  readModels: views.map(({ view }) => view.name),
})

/** Compares the log and the views. On shared servers, a deviation is checked a second time. */
const inspectTwice = async (
  { sleep }: Pick<Clock, 'sleep'>,
  { log, views, binding, alone, pepper }: VerifiedStores,
) => {
  const look = async () => {
    const found = await inspectViews(log, views, binding, readModelsOf(pepper.key))
    return { found, continuity: continuityOf(found) }
  }
  const first = await look()
  if (alone || first.continuity.is === 'same' || first.continuity.is === 'fresh') return first
  await sleep(CONFIRM_MS)
  return look()
}

/**
 * Verifies, before anything is written, that the log belongs to this deployment and that the read models match it. Read
 * models that do not match are rebuilt by the writer of the read models, and logged in one ERROR line. Fails for the
 * log of another deployment.
 */
export const verify = async (
  clock: Clock,
  stores: VerifiedStores,
  logger: VerificationLog,
  onProgress?: (progress: Progress) => void,
): Promise<Rebuilt | undefined> => {
  for (let waits = 0; ; waits++) {
    const { found, continuity } = await inspectTwice(clock, stores)
    if (continuity.is === 'another') return refuseOtherLog(stores.alone, continuity.found, continuity.known)
    if (continuity.is !== 'behind') return undefined
    if (stores.writes()) {
      const rebuilt = rebuiltOf(continuity, await eventsIn(stores.log), found.head)
      const { cause, eventsGone, readModels } = rebuilt
      const record = { read_models: readModels, cause, events_gone: eventsGone, head: String(found.head) }
      logger.error(record, `the read models do not match the event log and are rebuilt: ${causeTexts[cause]}`)
      const unfit = readModelsOf(stores.pepper.key).filter(({ name }) => readModels.includes(name))
      for (const projection of unfit) await forget(stores.views, projection)
      await rebuild({ clock, ...stores }, unfit, onProgress)
      return rebuilt
    }
    if (waits === 0)
      logger.info(
        'the read models do not match the event log; this instance waits until a different instance has rebuilt them',
      )
    await clock.sleep(AGAIN_MS)
  }
}

/** Fails if the log belongs to another deployment. */
export const insistOnSameLog = async ({
  log,
  binding,
  alone,
}: Pick<Stores, 'log' | 'binding' | 'alone'>): Promise<undefined> => {
  const known = await binding.read()
  if (!known) return undefined
  const first = await log.first()
  return first?.id === known.event ? undefined : refuseOtherLog(alone, first?.id, known.event)
}

/**
 * Stores the identity of the log next to the keys, once the log has an event. Fails if another identity is already
 * stored.
 */
export const recordLogIdentity = async ({
  log,
  binding,
  alone,
}: Pick<Stores, 'log' | 'binding' | 'alone'>): Promise<void> => {
  if (await binding.read()) return
  const first = await log.first()
  if (!first) return
  const mine: LogIdentity = { event: first.id, position: first.position }
  const { event } = await binding.write(mine)
  if (event !== mine.event) refuseOtherLog(alone, mine.event, event)
}
