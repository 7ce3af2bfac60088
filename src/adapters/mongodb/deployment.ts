import { createHmac, createPrivateKey, randomBytes } from 'node:crypto'
import type { Binary, Db } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import type { Binding } from '../../events/log.ts'
import { newSigningKey, pemOf, type SigningKeys } from '../../ledger/ledger-store.ts'
import type { KeyFile } from '../embedded/files/secret-file.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/**
 * Keys of the deployment. The secrets are stored only if no instance has a key file; `fingerprint` detects instances
 * with different keys.
 */
type StoredKeys = {
  readonly _id: 'keys'
  readonly fingerprint: string
  readonly madeAt: Date
  readonly kid?: string
  readonly pepper?: Binary
  readonly kek?: Binary
}

const BYTES = 32

const fingerprintOf = ({ pepper, kek }: KeyFile): string =>
  createHmac('sha256', Buffer.concat([pepper.key, kek]))
    .update(`rollcall keys ${pepper.kid}`)
    .digest('base64url')

const place = (db: Db) => db.collection<StoredKeys>('deployment')
const find = (db: Db, calls: Calls) => calls.call('read', (limits) => place(db).findOne({ _id: 'keys' }, limits))

/** State of the deployment's keys. */
export type StandingKeys = {
  /** The secrets in the database; undefined if the deployment keeps them in a key file. */
  readonly keys: KeyFile | undefined
  /** Returns true if these are the keys of the deployment. */
  readonly are: (keys: KeyFile) => boolean
}

const standingOf = ({ fingerprint, kid, pepper, kek }: StoredKeys): StandingKeys => {
  const are = (keys: KeyFile) => fingerprint === fingerprintOf(keys)
  if (kid === undefined || !pepper || !kek) return { keys: undefined, are }
  const keys: KeyFile = { pepper: { kid, key: pepper.value() }, kek: kek.value() }
  if (!are(keys))
    throw new Error('the keys of the deployment in MongoDB are damaged, because they do not match their fingerprint')
  return { keys, are }
}

/** Reads the keys of the deployment; undefined if none exist. Creates no keys. */
export const standingKeys = async (db: Db, calls: Calls): Promise<StandingKeys | undefined> => {
  const stored = await find(db, calls)
  return stored ? standingOf(stored) : undefined
}

/**
 * Keys shared by all instances of a deployment (api.md §12.3): those of a key file, else those in the database. The
 * first instance creates them, from `begin` when a deployment is migrated. Throws if this instance has different keys,
 * unless an operator accepted the loss of the stored ones (`accepted`); then the given keys replace them.
 */
export const deploymentKeys = async (
  db: Db,
  calls: Calls,
  clock: Clock,
  given?: KeyFile,
  begin?: KeyFile,
  accepted = false,
): Promise<KeyFile> => {
  const made: KeyFile = given ??
    begin ?? { pepper: { kid: randomBytes(4).toString('hex'), key: randomBytes(BYTES) }, kek: randomBytes(BYTES) }
  const secrets = given
    ? {}
    : { kid: made.pepper.kid, pepper: Buffer.from(made.pepper.key), kek: Buffer.from(made.kek) }
  const mine = { fingerprint: fingerprintOf(made), madeAt: clock.now(), ...secrets } as unknown as Omit<
    StoredKeys,
    '_id'
  >

  let stored = await find(db, calls)
  if (!stored) {
    await calls.call('write', () => unlessDuplicate(place(db).insertOne({ _id: 'keys', ...mine })))
    stored = await find(db, calls)
  } else if (accepted && given && stored.fingerprint !== mine.fingerprint) {
    const { fingerprint } = stored
    await calls.call('write', () => place(db).replaceOne({ _id: 'keys', fingerprint }, mine))
    stored = await find(db, calls)
  }
  if (!stored) throw new Error('the keys of the deployment were written to MongoDB but cannot be read back')
  const { keys, are } = standingOf(stored)
  if (!given) return keys ?? inFile()
  if (!are(given))
    throw new Error(
      'the key file belongs to another deployment, because its keys differ from the keys of the instances that use this MongoDB',
    )
  return given
}

const inFile = (): never => {
  throw new Error('this deployment keeps its keys in a key file; set keys.file to the path of a copy of that file')
}

type StoredBinding = { readonly _id: 'log'; readonly event: string; readonly position: bigint; readonly madeAt: Date }

/** Binding of the deployment's keys to a log. */
export const deploymentBinding = (db: Db, calls: Calls, clock: Clock): Binding => {
  const collection = db.collection<StoredBinding>('deployment')
  const read = async () => {
    const found = await calls.call('read', (limits) => collection.findOne({ _id: 'log' }, limits))
    return found ? { event: found.event, position: found.position } : undefined
  }
  return {
    read,
    write: async (identity) => {
      const mine = { _id: 'log', ...identity, madeAt: clock.now() } as const
      await calls.call('write', () => unlessDuplicate(collection.insertOne(mine)))
      return (await read()) ?? refuse('backend_unavailable')
    },
  }
}

type StoredSigningKey = {
  readonly _id: 'signing-key' | 'next-signing-key'
  readonly pem: string
  readonly madeAt: Date
}

/** Private key of checkpoints in the deployment: the first instance creates it. */
export const deploymentSigningKey = (db: Db, calls: Calls, clock: Clock): SigningKeys => {
  const collection = db.collection<StoredSigningKey>('deployment')
  const pem = async (_id: StoredSigningKey['_id']) =>
    (await calls.call('read', (limits) => collection.findOne({ _id }, limits)))?.pem
  const keyAt = async (_id: StoredSigningKey['_id']) => {
    const found = await pem(_id)
    return found === undefined ? undefined : createPrivateKey(found)
  }
  const replace = (_id: StoredSigningKey['_id'], text: string) =>
    calls.call('write', () => collection.replaceOne({ _id }, { pem: text, madeAt: clock.now() }, { upsert: true }))
  const read = () => keyAt('signing-key')
  return {
    read,
    open: async () => {
      const found = await read()
      if (found) return found
      const mine = { _id: 'signing-key', pem: pemOf(newSigningKey()), madeAt: clock.now() } as const
      await calls.call('write', () => unlessDuplicate(collection.insertOne(mine)))
      return (await read()) ?? refuse('backend_unavailable')
    },
    next: () => keyAt('next-signing-key'),
    prepare: async (key) => void (await replace('next-signing-key', pemOf(key))),
    promote: async () => {
      const [before, next] = [await pem('signing-key'), await pem('next-signing-key')]
      if (next === undefined) return
      // A late call of another process must not bring a key back.
      if (before === undefined) await replace('signing-key', next)
      else
        await calls.call('write', () =>
          collection.replaceOne({ _id: 'signing-key', pem: before }, { pem: next, madeAt: clock.now() }),
        )
      await calls.call('write', () => collection.deleteOne({ _id: 'next-signing-key', pem: next }))
    },
  }
}
