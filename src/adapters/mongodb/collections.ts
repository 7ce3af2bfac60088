import { randomBytes } from 'node:crypto'
import type { Collection, Db } from 'mongodb'
import { refuse } from '../../errors.ts'
import type { View } from '../../projections/views.ts'
import { type Calls, unlessDuplicate } from './calls.ts'
import type { StoredRow } from './rows.ts'

/** Of a version of a view: which collection its rows are in, up to where they hold every event, and which collections are being built or may soon be dropped. */
export type ViewState = {
  readonly _id: string
  readonly rows: string
  readonly position?: bigint
  /** Collections under construction; one not heard of by its time is given up. */
  readonly building?: Readonly<Record<string, Date>>
  /** Collections out of use since then; a reader that is slow may still be in one. */
  readonly retired?: Readonly<Record<string, Date>>
}

const GIVEN_UP_MS = 60_000
const HEARTBEAT_MS = 15_000
const RETIRED_MS = 600_000

const nameOf = ({ name, version }: View) => `${name}_${version}`

/**
 * Where the rows of each view are. Any instance may build a view anew at any time, so nothing is taken from memory unasked: a read goes
 * where the rows were last seen and is repeated when they have moved; a write first asks, and goes to collections under construction before
 * it goes to the one in use, so that a row which can be seen is never missing from the next one.
 */
export const mongoPlaces = (db: Db, calls: Calls, onError: (error: unknown) => void) => {
  const places = db.collection<ViewState>('views')
  const known = new Map<string, ViewState>()
  const indexed = new Map<string, Promise<void>>()
  const collection = (name: string): Collection<StoredRow> => db.collection<StoredRow>(name)

  const find = async (view: View): Promise<ViewState> => {
    const _id = nameOf(view)
    const place = (await calls.call('read', (signal) => places.findOne({ _id }, { signal }))) ?? { _id, rows: _id }
    known.set(_id, place)
    return place
  }

  /** Sees to the indexes once a process and collection; on an empty one it costs nothing. */
  const ready = (name: string, { indexes }: View): Promise<void> => {
    let making = indexed.get(name)
    if (!making) {
      // One command each: some servers fail when several of one command are there already.
      making = calls.call('batch', async () => {
        for (const index of indexes) await collection(name).createIndex({ [`doc.${index}`]: 1, _id: 1 })
      })
      indexed.set(name, making)
      making.catch(() => indexed.delete(name))
    }
    return making
  }

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

  const drop = async (_id: string, name: string) => {
    await calls.call('batch', () => collection(name).drop())
    await change(_id, { $unset: { [`retired.${name}`]: '' } })
  }

  /** Gives up builds that nobody tends any more, and drops what is long out of use. */
  const sweep = async ({ _id, rows, building = {}, retired = {} }: ViewState) => {
    const now = Date.now()
    for (const [name, until] of Object.entries(building))
      if (until.getTime() < now) await retire(_id, name, { [`building.${name}`]: until })
    for (const [name, since] of Object.entries(retired))
      if (name !== rows && since.getTime() + RETIRED_MS < now) await drop(_id, name)
  }
  const retire = (_id: string, name: string, where: object = {}) =>
    change(_id, { $unset: { [`building.${name}`]: '' }, $set: { [`retired.${name}`]: new Date() } }, where)

  /** Versions before the one before this: instances of the version before may still run. */
  const dropOld = async ({ name, version }: View) => {
    const all = await calls.call('read', (signal) =>
      places.find({ _id: { $gte: `${name}_`, $lt: `${name}\`` } }, { signal }).toArray(),
    )
    const older = all.filter(
      ({ _id }) => /^\d+$/.test(_id.slice(name.length + 1)) && Number(_id.slice(name.length + 1)) < version,
    )
    older.sort((a, b) => Number(b._id.slice(name.length + 1)) - Number(a._id.slice(name.length + 1)))
    for (const { _id, rows, retired = {}, building = {} } of older.slice(1)) {
      for (const each of [rows, ...Object.keys(retired), ...Object.keys(building)])
        await calls.call('batch', () => collection(each).drop())
      await calls.call('write', () => places.deleteOne({ _id }))
    }
  }

  return {
    find,
    /** Reads from the rows of the view. */
    reading: async <T>(view: View, read: (rows: Collection<StoredRow>) => Promise<T>): Promise<T> => {
      const before = known.get(nameOf(view)) ?? (await find(view))
      const [place, answer] = await Promise.all([find(view), read(collection(before.rows))])
      return place.rows === before.rows ? answer : read(collection(place.rows))
    },
    /** Writes to every collection that has to have it. */
    writing: async (view: View, write: (rows: Collection<StoredRow>) => Promise<void>): Promise<void> => {
      const { rows, building = {} } = await find(view)
      for (const name of [...Object.keys(building), rows]) {
        await ready(name, view)
        await write(collection(name))
      }
    },
    /** Rows of a collection in the order of their keys, from just behind one. */
    page: (rows: string, after: string | undefined, limit: number): Promise<readonly StoredRow[]> =>
      calls.call('read', (signal) =>
        collection(rows)
          .find(after === undefined ? {} : { _id: { $gt: after } }, { sort: { _id: 1 }, limit, signal })
          .toArray(),
      ),
    mark: async (view: View, position: bigint): Promise<void> => {
      const place = await make(nameOf(view), { $max: { position } })
      if (place) void sweep(place).catch(onError)
    },
    /** A new collection that every write goes to from now on, until it is swapped in, given up, or not tended for a minute. */
    build: async (view: View) => {
      const _id = nameOf(view)
      const staging = `${_id}~${randomBytes(4).toString('hex')}`
      const field = `building.${staging}`
      const registered = { [field]: { $exists: true } }
      const until = () => new Date(Date.now() + GIVEN_UP_MS)
      await ready(staging, view)
      const place = await make(_id, { $set: { [field]: until() } })
      if (place) void sweep(place).catch(onError)
      const heart = setInterval(
        () => void change(_id, { $set: { [field]: until() } }, registered).catch(onError),
        HEARTBEAT_MS,
      ).unref()
      return {
        rows: collection(staging),
        swap: async (position: bigint): Promise<void> => {
          for (let tries = 0; tries < 5; tries++) {
            const { rows, building = {} } = await find(view)
            if (!(staging in building))
              throw new Error(`the build of ${_id} was given up: nothing was heard of it for ${GIVEN_UP_MS} ms`)
            const update = {
              $set: { rows: staging, position, [`retired.${rows}`]: new Date() },
              $unset: { [field]: '' },
            }
            if ((await change(_id, update, { rows, ...registered })).matchedCount === 0) continue
            clearInterval(heart)
            await find(view)
            void dropOld(view).catch(onError)
            return
          }
          refuse('write_conflict')
        },
        discard: async (): Promise<void> => {
          clearInterval(heart)
          await retire(_id, staging, registered)
        },
      }
    },
  }
}
