import { createHmac, randomBytes } from 'node:crypto'
import type { Binary, Db } from 'mongodb'
import type { KeyFile } from '../embedded/key-file.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

/** The keys themselves stand here only when no instance has them in a file; `fingerprint` tells whether another has the same ones. */
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

/**
 * The keys that all instances of a deployment share (api.md §12.3): those given from a key file, else those in the database, made once
 * whoever comes first, out of those to begin with where a deployment is moved here. Throws when this instance's keys are not the deployment's.
 */
export const deploymentKeys = async (db: Db, calls: Calls, given?: KeyFile, begin?: KeyFile): Promise<KeyFile> => {
  const collection = db.collection<StoredKeys>('deployment')
  const made: KeyFile = given ??
    begin ?? { pepper: { kid: randomBytes(4).toString('hex'), key: randomBytes(BYTES) }, kek: randomBytes(BYTES) }
  const secrets = given
    ? {}
    : { kid: made.pepper.kid, pepper: Buffer.from(made.pepper.key), kek: Buffer.from(made.kek) }
  const find = () => calls.call('read', (signal) => collection.findOne({ _id: 'keys' }, { signal }))

  let stored = await find()
  if (!stored) {
    const mine = { fingerprint: fingerprintOf(made), madeAt: new Date(), ...secrets }
    await calls.call('write', () =>
      unlessDuplicate(collection.insertOne({ _id: 'keys', ...mine } as unknown as StoredKeys)),
    )
    stored = await find()
  }
  if (!stored) throw new Error('the keys of the deployment cannot be read back')
  if (given) {
    if (stored.fingerprint !== fingerprintOf(given))
      throw new Error('the key file is not that of this deployment: its keys differ from those of the other instances')
    return given
  }
  const { kid, pepper, kek } = stored
  if (kid === undefined || !pepper || !kek)
    throw new Error('this deployment has its keys in a key file: set keys.file to a copy of it')
  const keys: KeyFile = { pepper: { kid, key: pepper.value() }, kek: kek.value() }
  if (stored.fingerprint !== fingerprintOf(keys))
    throw new Error('the keys of the deployment are damaged: they do not fit their fingerprint')
  return keys
}
