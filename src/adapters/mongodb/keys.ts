import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Binary, Db } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import { partsOf } from '../../base/concurrency.ts'
import { isRefusal, refuse } from '../../base/errors.ts'
import type { Keys } from '../../events/personal.ts'
import { opens, unwrap, wrap } from '../key-wrap.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/** `key` is wrapped by the key-encryption key; a subject without `key` is erased. */
type StoredKey = { readonly _id: string; readonly key?: Binary; readonly madeAt?: Date; readonly erasedAt?: Date }
type Known = { readonly key: Uint8Array | 'erased'; readonly until: number }

const CACHED = 10_000
/** Maximum time in ms until an erasure by a different instance takes effect in this instance. */
const FRESH_MS = 1000
/**
 * Name of the document that checks a key-encryption key; it belongs to no person. If a key-encryption key can decrypt
 * this document, it can decrypt all keys in the collection.
 */
const WITNESS = 'key-encryption key'
/** Number of keys that are erased, or moved to `lost_subjects`, at once. */
const PAGE = 50

/** Returns a function that checks whether subject keys exist and the key-encryption key opens them. Creates nothing. */
export const subjectKeys = async (db: Db, calls: Calls) => {
  const stored = await calls.call('read', (limits) =>
    db.collection<StoredKey>('subjects').findOne({ _id: WITNESS }, limits),
  )
  const witness = stored?.key?.value()
  return (kek: Uint8Array) => (witness ? (opens(kek, WITNESS, witness) ? 'open' : 'closed') : 'missing')
}

/**
 * Moves the keys that the key-encryption key cannot unwrap to `lost_subjects`. Erased subjects stay erased. The move of
 * the keys can be repeated without harm.
 */
const putAside = async (db: Db, calls: Calls, kek: Uint8Array): Promise<void> => {
  const [from, to] = [db.collection<StoredKey>('subjects'), db.collection<StoredKey>('lost_subjects')]
  for (let after = ''; ; ) {
    const where = { _id: { $gt: after }, key: { $exists: true } }
    const page = await calls.call('batch', (limits) =>
      from.find(where, { sort: { _id: 1 }, limit: PAGE, ...limits }).toArray(),
    )
    for (const { _id, key, ...rest } of page) {
      if (!key || opens(kek, _id, key.value())) continue
      await calls.call('write', () => to.updateOne({ _id }, { $setOnInsert: { key, ...rest } }, { upsert: true }))
      await calls.call('write', () => from.deleteOne({ _id, key }))
    }
    if (page.length < PAGE) return
    after = page.at(-1)!._id
  }
}

/** Reads of the keys in the store, without a cache. */
const keyLists = (db: Db, calls: Calls): Pick<Keys, 'states' | 'between'> => {
  const [subjects, lost] = [db.collection<StoredKey>('subjects'), db.collection<StoredKey>('lost_subjects')]
  return {
    states: async (wanted) => {
      const where = { _id: { $in: [...wanted] } }
      const states = new Map<string, 'kept' | 'erased'>()
      for (const { _id, key } of await calls.call('batch', (limits) => subjects.find(where, limits).toArray()))
        states.set(_id, key ? 'kept' : 'erased')
      for (const { _id } of await calls.call('batch', (limits) => lost.find(where, limits).toArray()))
        states.set(_id, 'kept')
      return states
    },
    between: async (from, below, most) => {
      const where = { _id: { $gte: from, $lt: below }, key: { $exists: true } }
      const found = new Set<string>()
      for (const collection of [subjects, lost]) {
        const page = await calls.call('batch', (limits) =>
          collection.find(where, { sort: { _id: 1 }, limit: most, ...limits }).toArray(),
        )
        for (const { _id } of page) found.add(_id)
      }
      return [...found].sort().slice(0, most)
    },
  }
}

/**
 * Returns a function that leaves a tombstone in place of each key, and removes the keys that were put aside. Resolves
 * once this is true of all of them; after a failure it can be repeated.
 */
const keyEraser = (db: Db, calls: Calls, clock: Clock) => {
  const [subjects, lost] = [db.collection<StoredKey>('subjects'), db.collection<StoredKey>('lost_subjects')]
  return async (erased: readonly string[]): Promise<void> => {
    const change = { $unset: { key: '' }, $set: { erasedAt: clock.now() } } as const
    const these = { _id: { $in: [...erased] } }
    const upserts = erased.map((_id) => ({ updateOne: { filter: { _id }, update: change, upsert: true } }))
    const written = await calls.call('bulk', () => unlessDuplicate(subjects.bulkWrite(upserts, { ordered: false })))
    if (!written) {
      // Another instance created some of these documents at the same time, so now all of them exist.
      const { matchedCount } = await calls.call('bulk', () => subjects.updateMany(these, change))
      const cause = new Error(`MongoDB changed ${matchedCount} of ${erased.length} keys that are to be destroyed`)
      if (matchedCount < erased.length) refuse('backend_unavailable', undefined, { cause })
    }
    await calls.call('bulk', () => lost.deleteMany(these))
  }
}

/**
 * Keys of subjects in a collection of their own, each wrapped by the key-encryption key. A key is returned only after a
 * majority stored it, so no failover loses the key of sealed data. If the key-encryption key has changed, it throws, or
 * sets aside the keys that it cannot unwrap if an operator `accepted` that.
 */
export const mongoKeys = async (
  db: Db,
  calls: Calls,
  clock: Clock,
  kek: Uint8Array,
  accepted = false,
): Promise<Omit<Keys, 'close'>> => {
  const subjects = db.collection<StoredKey>('subjects')
  const cache = new LRUCache<string, Known>({ max: CACHED })

  const recall = (subject: string) => {
    const known = cache.get(subject)
    return known && (known.key === 'erased' || known.until > clock.monotonic()) ? known.key : undefined
  }
  const remember = (subject: string, requestedAt: number, stored: StoredKey): Uint8Array | 'erased' => {
    if (cache.get(subject)?.key === 'erased') return 'erased'
    const key = stored.key ? unwrap(kek, subject, stored.key.value()) : 'erased'
    cache.set(subject, { key, until: requestedAt + FRESH_MS })
    return key
  }

  const find: Keys['find'] = async (subject) => {
    const known = recall(subject)
    if (known !== undefined) return known
    const requestedAt = clock.monotonic()
    const stored = await calls.call('read', (limits) => subjects.findOne({ _id: subject }, limits))
    return stored ? remember(subject, requestedAt, stored) : undefined
  }
  const make: Keys['make'] = async (subject, given) => {
    const held = cache.get(subject)?.key
    const known = await find(subject).catch((error: unknown) => {
      // A cached key is sufficient for sealing: if the key is destroyed in the meantime, the data cannot be opened, as
      // intended.
      if (held === undefined || !isRefusal(error, 'backend_unavailable')) throw error
      return held
    })
    if (known !== undefined) return known
    const requestedAt = clock.monotonic()
    const fresh = Buffer.from(wrap(kek, subject, given ?? randomBytes(32)))
    const insert = { $setOnInsert: { key: fresh, madeAt: clock.now() } } as object
    const write = () =>
      calls.call('write', () =>
        unlessDuplicate(subjects.findOneAndUpdate({ _id: subject }, insert, { upsert: true, returnDocument: 'after' })),
      )
    const stored = (await write()) ?? (await write())
    if (!stored) throw new Error(`the encryption key of a person was written to MongoDB but cannot be read back`)
    return remember(subject, requestedAt, stored)
  }

  if (accepted) await putAside(db, calls, kek)
  await make(WITNESS)
  const erase = keyEraser(db, calls, clock)
  const forget: Keys['forget'] = async (erased) => {
    for (const subject of erased) cache.set(subject, { key: 'erased', until: Number.POSITIVE_INFINITY })
  }
  return {
    make,
    find,
    destroy: async (...erased) => {
      for (const part of partsOf([...new Set(erased)], PAGE)) {
        await erase(part)
        await forget(part)
      }
    },
    ...keyLists(db, calls),
    forget,
  }
}
