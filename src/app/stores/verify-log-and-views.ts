import type { Clock } from '../../clock.ts'
import type { LogIdentity } from '../../events/binding.ts'
import type { EventLog } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { readModelsOf } from '../../projections/all.ts'
import { type Cause, type Continuity, causes, continuityOf, goneOf } from '../../projections/engine/continuity.ts'
import { inspectViews } from '../../projections/engine/inspect-views.ts'
import { type Progress, rebuild } from '../../projections/engine/rebuild.ts'
import type { View } from '../../projections/views.ts'
import type { Stores } from './stores.ts'

/** A leader that was deposed may show an older log for 1.45 s, as observed: what it shows is believed when it is so for longer. */
const CONFIRM_MS = 2_000
const AGAIN_MS = 500

/** Where it is told. */
type VerificationLog = {
  readonly error: (record: object, message: string) => void
  readonly info: (message: string) => void
}
type VerifiedStores = Pick<Stores, 'log' | 'views' | 'binding' | 'alone' | 'writes' | 'pepper'>
type Behind = Extract<Continuity, { is: 'behind' }>

/** Read models that were built anew because they did not fit the log. */
export type Rebuilt = { readonly cause: Cause; readonly eventsGone: number; readonly readModels: string[] }

const causeTexts: Readonly<Record<Cause, string>> = {
  another_log: 'they are of another history',
  shorter: 'the history is shorter than they have seen: events that were acknowledged are gone',
  forked: 'the history is not the one that they have seen: events that were acknowledged are gone',
  rows_missing: 'rows are missing or older than they were',
}

/** Refuses to go on with another log, and says what to do. Nothing was written to the read models. */
const refuseOtherLog = (alone: boolean, found: string | undefined, known: string): never => {
  const is = found === undefined ? 'is empty' : `begins with event ${found}`
  const meant = alone
    ? 'views.sqlite with the files beside it, and the binding (sqlite3 subjects.sqlite "delete from binding")'
    : 'the database of the read models (MongoDB), keys and all'
  return fail(
    'failed',
    `This is another history than the one that this deployment was begun on: it ${is}, and not with event ${known}.`,
    `Nothing was changed. Put the right history back, or correct its address. Who means this one empties what was kept of the other: ${meant}; docs/guides/operations.md says how.`,
  )
}

/** A build that was left may know what the log does not have any more. */
const forget = async (views: Stores['views'], projection: View): Promise<void> => {
  for (let left = true; left; ) {
    const building = await views.build(projection)
    left = building.checkpoint !== undefined
    await building.discard()
  }
}

const eventsIn = async (log: Pick<EventLog, 'readAll'>): Promise<number> => {
  let events = 0
  for await (const page of log.readAll(0n)) events += page.length
  return events
}

const rebuiltOf = ({ views }: Behind, events: number, head: bigint): Rebuilt => ({
  cause: causes.find((one) => views.some(({ cause }) => cause === one))!,
  eventsGone: Math.max(...views.map((unfit) => goneOf(unfit, events, head))),
  readModels: views.map(({ view }) => view.name),
})

/** Looks until it is certain what became of the log: what is not as it was is looked at twice. */
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
 * Sees to it, before anything is written, that this is the log which the deployment was begun on, and that the read models fit it. Those
 * that do not are built anew, here or by the instance that writes them, and are told of in one ERROR line. Refuses another log.
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
      logger.error(record, `the read models do not fit the history, and are built anew: ${causeTexts[cause]}`)
      const unfit = readModelsOf(stores.pepper.key).filter(({ name }) => readModels.includes(name))
      for (const projection of unfit) await forget(stores.views, projection)
      await rebuild({ clock, ...stores }, unfit, onProgress)
      return rebuilt
    }
    if (waits === 0) logger.info('the read models do not fit the history; waiting for them to be built anew')
    await clock.sleep(AGAIN_MS)
  }
}

/** Refuses another log than the one that the deployment was begun on. */
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

/** Keeps beside the keys which log this is, once it has an event. Refuses where another log stands there meanwhile. */
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
