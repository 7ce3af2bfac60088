import { MongoClient } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import type { Binding } from '../../events/binding.ts'
import type { Keys } from '../../events/personal.ts'
import type { LedgerStore } from '../../ledger/ledger-store.ts'
import { newSigningKey, pemOf, type SigningKeys } from '../../ledger/signing-keys.ts'
import type { Lease } from '../../projections/engine/lease.ts'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { Views } from '../../projections/views.ts'
import type { KeyFile } from '../embedded/files/key-file.ts'
import { mongoCalls } from './calls.ts'
import { clientOptions, writersOf } from './client-options.ts'
import { mongoPlaces } from './collections.ts'
import {
  deploymentBinding,
  deploymentKeys,
  deploymentSigningKey,
  type StandingKeys,
  standingKeys,
} from './deployment.ts'
import { indexMaker } from './indexes.ts'
import { mongoKeys, subjectKeys } from './keys.ts'
import { mongoLease } from './lease.ts'
import { mongoLedger } from './ledger.ts'
import { mongoRecords } from './records.ts'
import { rowWriter } from './rows.ts'
import { mongoSnapshots } from './snapshots.ts'
import { mongoViews } from './views.ts'

type MongoOptions = {
  readonly clock: Clock
  /** Called with errors of background work: cleanup and heartbeats of builds. */
  readonly onError: (error: unknown) => void
  /** Maximum documents of one write command. */
  readonly bulk?: number
}

export type Mongo = {
  readonly views: Views
  readonly snapshots: Snapshots
  /** The existing keys; the function creates none. */
  readonly standing: () => Promise<{
    readonly deployment: StandingKeys | undefined
    readonly subjects: (kek: Uint8Array) => 'missing' | 'closed' | 'open'
  }>
  /**
   * Keys of subjects, wrapped by the deployment's key-encryption key. Throws if that key changed, unless the loss was
   * `accepted`.
   */
  readonly keys: (kek: Uint8Array, accepted?: boolean) => Promise<Keys>
  /**
   * Keys shared by all instances: those of the key file, else those in the database, created from `begin` if there are
   * none. The keys of a file must be the deployment's, unless the loss of those was `accepted`.
   */
  readonly deploymentKeys: (given?: KeyFile, begin?: KeyFile, accepted?: boolean) => Promise<KeyFile>
  readonly binding: Binding
  readonly ledger: Omit<LedgerStore, 'close'>
  /** Signing key of checkpoints, shared by all instances without a file of their own. */
  readonly signingKeys: SigningKeys
  /** Lease of a name for `ttl` ms. */
  readonly lease: (name: string, ttl: number) => Lease
  readonly close: () => Promise<void>
}

/**
 * Opens read models, keys and leases in a MongoDB database (docs/decisions/0005). Throws if the server does not answer.
 * During a later outage, operations are refused with `backend_unavailable` within two seconds.
 */
export const openMongo = async (
  url: string,
  database: string,
  { clock, onError, bulk = 1000 }: MongoOptions,
): Promise<Mongo> => {
  const client = new MongoClient(url, clientOptions(url))
  const calls = mongoCalls(clock, writersOf(client.options))
  const db = client.db(database)
  const close = () => calls.close(() => client.close(true))
  try {
    await calls.call('connect', () => client.connect())
  } catch (error) {
    await close()
    throw new Error('MongoDB does not answer', { cause: error })
  }

  const indexes = indexMaker(db, calls, clock, onError)
  const views = mongoViews({
    calls,
    clock,
    places: mongoPlaces(db, calls, clock, indexes, onError),
    rows: rowWriter(calls, bulk),
    records: mongoRecords(db, calls, clock, indexes, onError),
  })
  return {
    views: { ...views, close },
    snapshots: mongoSnapshots(db, calls),
    standing: async () => {
      const [deployment, subjects] = await Promise.all([standingKeys(db, calls), subjectKeys(db, calls)])
      return { deployment, subjects }
    },
    keys: async (kek, accepted) => ({ ...(await mongoKeys(db, calls, clock, kek, accepted)), close }),
    deploymentKeys: (given, begin, accepted) => deploymentKeys(db, calls, clock, given, begin, accepted),
    binding: deploymentBinding(db, calls, clock),
    ledger: mongoLedger(db, calls),
    signingKeys: deploymentSigningKey(db, calls, clock, { newKey: newSigningKey, pemOf }),
    lease: (name, ttl) => mongoLease(db, calls, clock, name, ttl),
    close,
  }
}
