import type { Db } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import type { Checkpoint, View } from '../../projections/views.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/**
 * State of one version of a view: its collection of rows, its checkpoint, and the collections under construction or
 * about to be dropped.
 */
export type ViewState = {
  readonly _id: string
  readonly rows: string
  readonly checkpoint?: Checkpoint
  /** Collections under construction, with the time after which they count as abandoned unless renewed. */
  readonly building?: Readonly<Record<string, Date>>
  /** Checkpoint of each collection under construction. */
  readonly progress?: Readonly<Record<string, Checkpoint>>
  /** Collections out of use and the time of their retirement; slow readers may still use them. */
  readonly retired?: Readonly<Record<string, Date>>
}

const RETIRED_MS = 600_000

/** Stores the state of each view version, in a collection of its own. */
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
    /** Updates an existing view that matches `where`. */
    change,
    /** Updates a view; creates it if it does not exist. */
    make,
    /** Retires a collection under construction. */
    retire: (_id: string, name: string, where: object = {}) =>
      change(
        _id,
        { $unset: { [`building.${name}`]: '', [`progress.${name}`]: '' }, $set: { [`retired.${name}`]: clock.now() } },
        where,
      ),
    /** All versions of the view with this name. */
    versions: (name: string): Promise<readonly ViewState[]> =>
      calls.call('read', (limits) => places.find({ _id: { $gte: `${name}_`, $lt: `${name}\`` } }, limits).toArray()),
    remove: (_id: string) => calls.call('write', () => places.deleteOne({ _id })),
  }
}
type ViewStates = ReturnType<typeof viewStates>

/** Drops unused collections. */
export const cleaner = (db: Db, calls: Calls, clock: Clock, states: ViewStates) => {
  const drop = (name: string) => calls.call('bulk', () => db.collection(name).drop())
  return {
    /** Retires abandoned builds, and drops collections retired more than ten minutes ago. */
    sweep: async ({ _id, rows, building = {}, retired = {} }: ViewState): Promise<void> => {
      const now = clock.now().getTime()
      for (const [name, until] of Object.entries(building))
        if (until.getTime() < now) await states.retire(_id, name, { [`building.${name}`]: until })
      for (const [name, since] of Object.entries(retired)) {
        if (name === rows || name in building || since.getTime() + RETIRED_MS >= now) continue
        await drop(name)
        await states.change(_id, { $unset: { [`retired.${name}`]: '' } })
      }
    },
    /**
     * Retires collections of a view that its state does not contain, for example those of an earlier release that
     * created a collection before it registered it.
     */
    retireUnregistered: async (_id: string): Promise<void> => {
      const found = await calls.call('batch', (limits) =>
        db.listCollections({}, { nameOnly: true, ...limits }).toArray(),
      )
      const own = found.flatMap(({ name }) => (name.startsWith(`${_id}~`) ? [name] : []))
      const { rows, building = {}, retired = {} } = await states.find(_id)
      for (const name of own)
        if (name !== rows && !(name in building) && !(name in retired)) await states.retire(_id, name)
    },
    /** Drops all but the newest of the earlier versions, because instances of the previous release may still use it. */
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
