import { randomBytes } from 'node:crypto'
import type { Collection, Db } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import { gathered } from '../../base/concurrency.ts'
import { refuse } from '../../base/errors.ts'
import type { Checkpoint, View } from '../../projections/views.ts'
import { type Calls, unlessDuplicate } from './calls.ts'
import type { indexMaker } from './indexes.ts'
import type { StoredRow } from './rows.ts'

/**
 * State of one version of a view: its collection of rows, its checkpoint, and the collections under construction or
 * about to be dropped.
 */
type ViewState = {
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

/** A move of the checkpoint of a view from a position. */
type Move = { readonly _id: string; readonly from: bigint; readonly to: Checkpoint }

/** Stores the state of each view version, in a collection of its own. */
const viewStates = (db: Db, calls: Calls, clock: Clock) => {
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

  /** States of views. Those that are looked up at the same time take one command. */
  const find = gathered(async (ids: readonly string[]): Promise<readonly ViewState[]> => {
    const where = { _id: { $in: [...new Set(ids)] } }
    const found = await calls.call('read', (limits) => places.find(where, limits).toArray())
    return ids.map((_id) => found.find((state) => state._id === _id) ?? { _id, rows: _id })
  })

  return {
    find,
    /** Moves checkpoints that are at `from`. Those that are moved at the same time take one command. */
    move: gathered(async (moves: readonly Move[]): Promise<readonly boolean[]> => {
      const operations = moves.map(({ _id, from, to }) => ({
        updateOne: { filter: { _id, 'checkpoint.position': from }, update: { $set: { checkpoint: to } } },
      }))
      const { matchedCount } = await calls.call('view', () => places.bulkWrite(operations, { ordered: false }))
      if (matchedCount === 0 || matchedCount === moves.length) return moves.map(() => matchedCount > 0)
      const states = await Promise.all(moves.map(({ _id }) => find(_id)))
      return moves.map(({ to: { position, event } }, n) => {
        const { checkpoint } = states[n]!
        return checkpoint?.position === position && checkpoint.event === event
      })
    }),
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
const cleaner = (db: Db, calls: Calls, clock: Clock, states: ViewStates) => {
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

const GIVEN_UP_MS = 60_000
const HEARTBEAT_MS = 15_000

const nameOf = ({ name, version }: View) => `${name}_${version}`

type Staging = {
  readonly clock: Clock
  readonly states: ReturnType<typeof viewStates>
  readonly find: (view: View) => Promise<ViewState>
  readonly make: (view: View, update: object) => Promise<void>
  readonly indexes: ReturnType<typeof indexMaker>
  readonly collection: (name: string) => Collection<StoredRow>
  readonly dropOld: (view: View) => Promise<void>
  readonly retireUnregistered: (_id: string) => Promise<void>
  readonly onError: (error: unknown) => void
}

/**
 * Opens a collection under construction: the unfinished one with the highest checkpoint, or a new one. Every write also
 * goes to this collection until it is swapped in, discarded, or has had no heartbeat for a minute.
 */
const stagingOf = (parts: Staging) => {
  const { clock, states, find, make, indexes, collection, dropOld, retireUnregistered, onError } = parts
  const tended = new Set<string>()
  const until = () => new Date(clock.now().getTime() + GIVEN_UP_MS)
  const registered = (staging: string) => ({ [`building.${staging}`]: { $exists: true } })
  const tend = (_id: string, staging: string) =>
    states.change(_id, { $set: { [`building.${staging}`]: until() } }, registered(staging))

  const leftOf = async (view: View) => {
    const { _id, building = {}, progress = {} } = await find(view)
    const left = Object.entries(progress)
      .filter(([name]) => name in building && !tended.has(name))
      .sort(([, one], [, other]) => (one.position < other.position ? 1 : -1))
    for (const [staging, checkpoint] of left)
      if ((await tend(_id, staging)).matchedCount > 0) return { staging, checkpoint }
    return undefined
  }
  const begun = async (view: View) => {
    const _id = nameOf(view)
    const staging = `${_id}~${randomBytes(4).toString('hex')}`
    // Registered before it exists, so that a later sweep drops it if this attempt ends.
    await make(view, { $set: { [`building.${staging}`]: until() } })
    void retireUnregistered(_id).catch(onError)
    try {
      await indexes.make(staging, view)
    } catch (error) {
      await states.retire(_id, staging, registered(staging)).catch(onError)
      throw error
    }
    return { staging, checkpoint: undefined }
  }

  return async (view: View) => {
    const _id = nameOf(view)
    const { staging, checkpoint } = (await leftOf(view)) ?? (await begun(view))
    tended.add(staging)
    const heart = clock.every(HEARTBEAT_MS, () => void tend(_id, staging).catch(onError))
    const end = () => {
      heart.cancel()
      tended.delete(staging)
    }
    return {
      rows: collection(staging),
      checkpoint,
      mark: async (to: Checkpoint): Promise<void> =>
        void (await states.change(_id, { $set: { [`progress.${staging}`]: to } }, registered(staging))),
      swap: async (to: Checkpoint): Promise<void> => {
        for (let tries = 0; tries < 5; tries++) {
          const { rows, building = {} } = await find(view)
          if (!(staging in building))
            throw new Error(
              `the rebuild of ${_id} was ended by a different instance, because it wrote no heartbeat for ${GIVEN_UP_MS} ms`,
            )
          const update = {
            $set: { rows: staging, checkpoint: to, [`retired.${rows}`]: clock.now() },
            $unset: { [`building.${staging}`]: '', [`progress.${staging}`]: '' },
          }
          if ((await states.change(_id, update, { rows, ...registered(staging) })).matchedCount === 0) continue
          end()
          await find(view)
          void dropOld(view).catch(onError)
          return
        }
        refuse('write_conflict')
      },
      leave: async (): Promise<void> => end(),
      discard: async (): Promise<void> => {
        end()
        await states.retire(_id, staging, registered(staging))
      },
    }
  }
}

/**
 * Locates the rows of each view. Any instance may rebuild a view at any time, so the cached location is always
 * verified. A read uses the cached collection and is repeated if the rows have moved. A write first looks up the state,
 * and goes to collections under construction before the live one, so the next collection contains every visible row.
 */
export const mongoPlaces = (
  db: Db,
  calls: Calls,
  clock: Clock,
  indexes: ReturnType<typeof indexMaker>,
  onError: (error: unknown) => void,
) => {
  const states = viewStates(db, calls, clock)
  const { sweep, dropOld, retireUnregistered } = cleaner(db, calls, clock, states)
  const known = new Map<string, ViewState>()
  const collection = (name: string): Collection<StoredRow> => db.collection<StoredRow>(name)

  const find = async (view: View): Promise<ViewState> => {
    const place = await states.find(nameOf(view))
    known.set(place._id, place)
    return place
  }
  /** Updates a view and starts a sweep of unused collections in the background. */
  const make = async (view: View, update: object): Promise<void> => {
    const place = await states.make(nameOf(view), update)
    if (place) void sweep(place).catch(onError)
  }

  return {
    find,
    /** Reads from the collection of the view. */
    reading: async <T>(view: View, read: (rows: Collection<StoredRow>) => Promise<T>): Promise<T> => {
      const before = known.get(nameOf(view)) ?? (await find(view))
      const [place, answer] = await Promise.all([find(view), read(collection(before.rows))])
      return place.rows === before.rows ? answer : read(collection(place.rows))
    },
    /** Writes to the collections under construction and to the live one. No write waits for an index. */
    writing: async (view: View, write: (rows: Collection<StoredRow>) => Promise<void>): Promise<void> => {
      const { rows, building = {} } = await find(view)
      for (const name of [...Object.keys(building), rows]) {
        await write(collection(name))
        // Not before the first write, because some servers cannot create a collection twice at once.
        indexes.begin(name, view)
      }
    },
    collection,
    /**
     * Moves the checkpoint of a view if it is at `from`; otherwise returns false. If the view has no checkpoint,
     * creates it.
     */
    mark: async (view: View, from: bigint | undefined, to: Checkpoint): Promise<boolean> => {
      const _id = nameOf(view)
      if (from !== undefined) {
        const { building, retired } = known.get(_id) ?? (await find(view))
        if (Object.keys({ ...building, ...retired }).length > 0) void find(view).then(sweep).catch(onError)
        return states.move({ _id, from, to })
      }
      if ((await find(view)).checkpoint) return false
      await make(view, {})
      return (
        (await states.change(_id, { $set: { checkpoint: to } }, { checkpoint: { $exists: false } })).matchedCount > 0
      )
    },
    build: stagingOf({ clock, states, find, make, indexes, collection, dropOld, retireUnregistered, onError }),
  }
}
