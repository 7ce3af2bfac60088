import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Binary, Db } from 'mongodb'
import type { Clock } from '../../clock.ts'
import { isRefusal } from '../../errors.ts'
import type { Keys } from '../../events/personal.ts'
import { opens, unwrap, wrap } from '../key-wrap.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/** `key` is wrapped by the key-encryption key; a subject without one is erased. */
type StoredKey = { readonly _id: string; readonly key?: Binary; readonly madeAt?: Date; readonly erasedAt?: Date }
type Known = { readonly key: Uint8Array | 'erased'; readonly until: number }

const CACHED = 10_000
/** An erasure made by another instance is known here after this many milliseconds. */
const FRESH_MS = 1000
/** Stands among the subjects for the key-encryption key itself: what opens it fits the rest. */
const WITNESS = 'key-encryption key'
/** Keys put aside at once. */
const PAGE = 50

/** Whether there are keys of subjects, and the key-encryption key opens them. Makes nothing. */
export const subjectKeys = async (db: Db, calls: Calls) => {
  const stored = await calls.call('read', (limits) =>
    db.collection<StoredKey>('subjects').findOne({ _id: WITNESS }, limits),
  )
  const witness = stored?.key?.value()
  return (kek: Uint8Array) => (witness ? (opens(kek, WITNESS, witness) ? 'open' : 'closed') : 'missing')
}

/**
 * Moves the keys that the key-encryption key does not open to a collection that nobody reads. Who was erased stays
 * erased. Can be begun again.
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

/**
 * Keys of subjects in a collection of their own, each wrapped by the key-encryption key. A key is given out only once a majority has it, so
 * that no fail-over forgets what something was sealed with. When the key-encryption key is another than before it throws, or puts aside what
 * that does not open where an operator said so (`accepted`).
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
  const remember = (subject: string, asked: number, stored: StoredKey): Uint8Array | 'erased' => {
    if (cache.get(subject)?.key === 'erased') return 'erased'
    const key = stored.key ? unwrap(kek, subject, stored.key.value()) : 'erased'
    cache.set(subject, { key, until: asked + FRESH_MS })
    return key
  }

  const find: Keys['find'] = async (subject) => {
    const known = recall(subject)
    if (known !== undefined) return known
    const asked = clock.monotonic()
    const stored = await calls.call('read', (limits) => subjects.findOne({ _id: subject }, limits))
    return stored ? remember(subject, asked, stored) : undefined
  }
  const make: Keys['make'] = async (subject, given) => {
    const held = cache.get(subject)?.key
    const known = await find(subject).catch((error: unknown) => {
      // What is sealed under a key that was destroyed meanwhile can simply not be opened, so for sealing an old answer does.
      if (held === undefined || !isRefusal(error, 'backend_unavailable')) throw error
      return held
    })
    if (known !== undefined) return known
    const asked = clock.monotonic()
    const fresh = Buffer.from(wrap(kek, subject, given ?? randomBytes(32)))
    const insert = { $setOnInsert: { key: fresh, madeAt: clock.now() } } as object
    const write = () =>
      calls.call('write', () =>
        unlessDuplicate(subjects.findOneAndUpdate({ _id: subject }, insert, { upsert: true, returnDocument: 'after' })),
      )
    const stored = (await write()) ?? (await write())
    if (!stored) throw new Error(`the key of a subject was made by another and is not there`)
    return remember(subject, asked, stored)
  }

  if (accepted) await putAside(db, calls, kek)
  await make(WITNESS)
  return {
    make,
    find,
    destroy: async (subject) => {
      const erase = { $unset: { key: '' }, $set: { erasedAt: clock.now() } } as const
      const write = () =>
        calls.call('write', () => unlessDuplicate(subjects.updateOne({ _id: subject }, erase, { upsert: true })))
      if ((await write()) === undefined) await write()
      await calls.call('write', () => db.collection<StoredKey>('lost_subjects').deleteOne({ _id: subject }))
      cache.set(subject, { key: 'erased', until: Number.POSITIVE_INFINITY })
    },
  }
}
