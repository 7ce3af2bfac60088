import type { Db } from 'mongodb'
import type { Clock } from '../../clock.ts'
import type { Checkpoint, View } from '../../projections/views.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/**
 * The state of one version of a view: the collection of its rows, up to where they hold every event, and the
 * collections being built or soon to be dropped.
 */
export type ViewState = {
  readonly _id: string
  readonly rows: string
  readonly checkpoint?: Checkpoint
  /** Collections under construction; one not heard of by its time is given up. */
  readonly building?: Readonly<Record<string, Date>>
  /** Of collections under construction, how far each is. */
  readonly progress?: Readonly<Record<string, Checkpoint>>
  /** Collections out of use since then; a reader that is slow may still be in one. */
  readonly retired?: Readonly<Record<string, Date>>
}

const RETIRED_MS = 600_000

/** What is known of the collections of views, in a collection of its own. */
export const viewStates = (db: Db, calls: Calls, clock: Clock) => {
  const places = db.collection<ViewState>('views')

  const change = (_id: string, update: object, where: object = {}) =>
    calls.call('write', () => places.updateOne({ _id, ...where }, update))
  const make = (_id: string, update: object) => {
    const write = () =>
      calls.call('write', () =>
        unlessDuplicate(
          places.findOneAndUpdate(
            { _id },
            { ...update, $setOnInsert: { rows: _id } },
            { upsert: true, returnDocument: 'after' },
          ),
        ),
      )
    return write().then((made) => made ?? write())
  }

  return {
    find: async (_id: string): Promise<ViewState> =>
      (await calls.call('read', (limits) => places.findOne({ _id }, limits))) ?? { _id, rows: _id },
    /** Changes a view that is there and as `where` says. */
    change,
    /** Changes a view, and makes it where there is none. */
    make,
    /** Takes a collection out of the building ones. */
    retire: (_id: string, name: string, where: object = {}) =>
      change(
        _id,
        { $unset: { [`building.${name}`]: '', [`progress.${name}`]: '' }, $set: { [`retired.${name}`]: clock.now() } },
        where,
      ),
    /** All versions of a view of this name. */
    versions: (name: string): Promise<readonly ViewState[]> =>
      calls.call('read', (limits) => places.find({ _id: { $gte: `${name}_`, $lt: `${name}\`` } }, limits).toArray()),
    remove: (_id: string) => calls.call('write', () => places.deleteOne({ _id })),
  }
}
type ViewStates = ReturnType<typeof viewStates>

/** Drops what nobody uses any more. */
export const cleaner = (db: Db, calls: Calls, clock: Clock, states: ViewStates) => {
  const drop = (name: string) => calls.call('batch', () => db.collection(name).drop())
  return {
    /** Gives up builds that nobody tends any more, and drops what is long out of use. */
    sweep: async ({ _id, rows, building = {}, retired = {} }: ViewState): Promise<void> => {
      const now = clock.now().getTime()
      for (const [name, until] of Object.entries(building))
        if (until.getTime() < now) await states.retire(_id, name, { [`building.${name}`]: until })
      for (const [name, since] of Object.entries(retired)) {
        if (name === rows || since.getTime() + RETIRED_MS >= now) continue
        await drop(name)
        await states.change(_id, { $unset: { [`retired.${name}`]: '' } })
      }
    },
    /** Drops versions before the one before this: instances of the version before may still run. */
    dropOld: async ({ name, version }: View): Promise<void> => {
      const versionOf = ({ _id }: ViewState) => _id.slice(name.length + 1)
      const older = (await states.versions(name)).filter(
        (state) => /^\d+$/.test(versionOf(state)) && Number(versionOf(state)) < version,
      )
      older.sort((a, b) => Number(versionOf(b)) - Number(versionOf(a)))
      for (const { _id, rows, retired = {}, building = {} } of older.slice(1)) {
        for (const each of [rows, ...Object.keys(retired), ...Object.keys(building)]) await drop(each)
        await states.remove(_id)
      }
    },
  }
}
