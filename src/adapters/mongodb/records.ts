import type { Collection, Db } from 'mongodb'
import type { Clock, Timer } from '../../base/clock.ts'
import type { RecordOf, Views } from '../../projections/views.ts'
import { type Calls, unlessDuplicate } from './calls.ts'
import type { indexMaker } from './indexes.ts'

/** Stored record. `value` is JSON text, because it is only read as a whole. */
type StoredRecord = {
  readonly _id: string
  readonly table: string
  readonly key: string
  readonly revision: number
  readonly value: string
  readonly until: Date
}

const PURGE_AFTER_MS = 60_000
const PURGED = 1000

/**
 * Small records with compare-and-set, in one collection. Expired ones are removed about a minute after a later write.
 */
export const mongoRecords = (
  db: Db,
  calls: Calls,
  clock: Clock,
  indexes: Pick<ReturnType<typeof indexMaker>, 'beginOne'>,
  onError: (error: unknown) => void,
): Pick<Views, 'record' | 'records' | 'swapRecord'> => {
  const records: Collection<StoredRecord> = db.collection('records')
  let purging: Timer | undefined

  const purge = async () => {
    indexes.beginOne(records.collectionName, 'until')
    for (let found = PURGED; found === PURGED; ) {
      const past = { until: { $lte: clock.now() } }
      const some = await calls.call('read', (limits) =>
        records.find(past, { projection: { _id: 1 }, limit: PURGED, ...limits }).toArray(),
      )
      found = some.length
      if (found > 0)
        await calls.call('bulk', () => records.deleteMany({ _id: { $in: some.map(({ _id }) => _id) }, ...past }))
    }
  }
  const purgeLater = () => {
    purging ??= clock
      .after(PURGE_AFTER_MS, () => {
        purging = undefined
        if (calls.open()) purge().catch(onError)
      })
      .unref()
  }

  /**
   * Creates a record, or replaces an expired one. A duplicate-key error may also come from a concurrent upsert of an
   * expired record.
   */
  const make = async (record: Omit<StoredRecord, 'revision'>): Promise<boolean> => {
    const { _id, ...content } = record
    const write = (upsert: boolean) => {
      const where = { _id, until: { $lte: clock.now() } }
      return calls.call('write', () =>
        unlessDuplicate(records.replaceOne(where, { ...content, revision: 1 }, { upsert })),
      )
    }
    const made = (await write(true)) ?? (await write(false))
    return made !== undefined && made.matchedCount + made.upsertedCount > 0
  }

  return {
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the port's own signature
    record: async <V>(table: string, key: string): Promise<RecordOf<V> | undefined> => {
      const _id = `${table}/${key}`
      const found = await calls.call('read', (limits) => records.findOne({ _id }, limits))
      return found && found.until.getTime() > clock.now().getTime()
        ? { revision: found.revision, value: JSON.parse(found.value) as V }
        : undefined
    },
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the port's own signature
    records: async <V>(table: string, keys: readonly string[]) => {
      const where = { _id: { $in: keys.map((key) => `${table}/${key}`) }, until: { $gt: clock.now() } }
      const found = await calls.call('read', (limits) => records.find(where, limits).toArray())
      return new Map(found.map(({ key, revision, value }) => [key, { revision, value: JSON.parse(value) as V }]))
    },
    swapRecord: async (table, key, expected, value, until) => {
      purgeLater()
      const content = { value: JSON.stringify(value), until: new Date(until) }
      const _id = `${table}/${key}`
      if (expected === 0) return make({ _id, table, key, ...content })
      const where = { _id, revision: expected, until: { $gt: clock.now() } }
      const { matchedCount } = await calls.call('write', () =>
        records.updateOne(where, { $set: { ...content, revision: expected + 1 } }),
      )
      return matchedCount > 0
    },
  }
}
