import { createHash } from 'node:crypto'
import type { Db, Document } from 'mongodb'
import { MongoServerError } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import type { Index, View } from '../../projections/views.ts'
import type { Calls } from './calls.ts'

type Key = Readonly<Record<string, 1>>

/** Some services limit the names of indexes, and the driver makes names of up to 156 characters. */
const NAME = { fields: 31, digest: 8 } as const
/** Pause in ms after a failed attempt. */
const PAUSE_MS = 60_000
const NO_COLLECTION = 26

/** Fields of an index. An absent field is indexed as null. */
const keyOf = ({ lacking, by, having, also }: Index): Key => {
  const fields = (names: readonly (string | undefined)[]) => names.flatMap((name) => (name ? [[`doc.${name}`, 1]] : []))
  return Object.fromEntries([...fields([lacking, ...by]), ['_id', 1], ...fields([...(also ?? []), having])]) as Key
}

/** Text that is equal for equal keys, because the order of the fields of a key counts. */
const textOf = (key: Document): string =>
  Object.entries(key)
    .map(([field, order]) => `${field}:${order}`)
    .join()

/** Name of at most 40 characters: the fields, cut off, and a digest of the whole key. */
const nameOf = (key: Key): string => {
  const fields = Object.keys(key).map((field) => field.replace(/^doc\./, ''))
  const digest = createHash('sha256').update(textOf(key)).digest('hex').slice(0, NAME.digest)
  return `${fields.join('_').slice(0, NAME.fields)}_${digest}`
}

/** Keys of the indexes of a view. Each start looks up the newest row. */
const keysOf = ({ indexes }: View): readonly Key[] => [{ position: 1 }, ...indexes.map(keyOf)]

/** Text of each existing index; none if the collection does not exist. */
const existing = async (db: Db, collection: string): Promise<ReadonlySet<string>> => {
  try {
    const found = await db.collection(collection).listIndexes().toArray()
    return new Set(found.map(({ key }) => textOf(key)))
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NO_COLLECTION) return new Set()
    throw error
  }
}

/**
 * Creates indexes of collections. One command creates all that are missing, because on some servers every command takes
 * about two seconds on a collection that exists.
 */
export const indexMaker = (db: Db, calls: Calls, clock: Clock, onError: (error: unknown) => void) => {
  /** Collections whose indexes exist, are being created, or could not be created a moment ago. */
  const begun = new Set<string>()

  const create = async (collection: string, keys: readonly Key[]): Promise<void> => {
    const found = await calls.call('batch', () => existing(db, collection))
    const missing = keys.filter((key) => !found.has(textOf(key)))
    if (missing.length === 0) return
    const indexes = missing.map((key) => ({ key, name: nameOf(key) }))
    await calls.call('bulk', () => db.collection(collection).createIndexes(indexes))
  }

  /** Creates the missing indexes in the background, once for each process; repeated a minute after a failure. */
  const begin = (collection: string, keys: readonly Key[]): void => {
    if (begun.has(collection)) return
    begun.add(collection)
    create(collection, keys).catch((error: unknown) => {
      clock.after(PAUSE_MS, () => void begun.delete(collection)).unref()
      if (calls.open()) onError(error)
    })
  }

  return {
    /** Creates the missing indexes of a view and waits for them. */
    make: async (collection: string, view: View): Promise<void> => {
      begun.add(collection)
      try {
        await create(collection, keysOf(view))
      } catch (error) {
        begun.delete(collection)
        throw error
      }
    },
    /** Creates the missing indexes of a view in the background. */
    begin: (collection: string, view: View): void => begin(collection, keysOf(view)),
    /** Creates a missing index over one field in the background. */
    beginOne: (collection: string, field: string): void => begin(collection, [{ [field]: 1 }]),
  }
}
