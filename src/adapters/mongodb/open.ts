import { randomUUID } from 'node:crypto'
import { Binary, type Db, MongoClient } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import type { Binding } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import type { LedgerStore, SigningKeys } from '../../ledger/ledger-store.ts'
import type { Lease, Snapshots, Views } from '../../projections/views.ts'
import type { KeyFile } from '../embedded/files/secret-file.ts'
import { clientOptions, writersOf } from './address.ts'
import { type Calls, mongoCalls, unlessDuplicate } from './calls.ts'
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
import { mongoLedger } from './ledger.ts'
import { mongoRecords } from './records.ts'
import { rowWriter } from './rows.ts'
import { mongoViews } from './views.ts'

/** `beat` counts renewals, `term` counts changes of the holder. No wall-clock time is stored. */
type StoredLease = { readonly _id: string; readonly holder: string; readonly term: number; readonly beat: number }

const NO_HOLDER = ''
/**
 * After giving up the lease, an instance waits this many times its length before it takes the lease again. In this time
 * every other instance looks for it.
 */
const REST = 1 / 2

/**
 * Lease that at most one of all instances holds at a time. The lease lasts `ttl` ms from the time at which its holder
 * sends a renewal. A different instance acquires the lease after it has seen no renewal for 1.25 `ttl`; all durations
 * are measured on local monotonic clocks, so clocks need not agree.
 */
export const mongoLease = (db: Db, calls: Calls, clock: Clock, name: string, ttl: number): Lease => {
  const leases = db.collection<StoredLease>('leases')
  const me = randomUUID()
  let term: number | undefined
  let until = Number.NEGATIVE_INFINITY
  let seen = { term: -1, beat: -1, since: 0 }
  let closed = false
  let able = () => true
  let restsUntil = Number.NEGATIVE_INFINITY

  const giveUp = async () => {
    const mine = { _id: name, holder: me, term: term! }
    term = undefined
    until = Number.NEGATIVE_INFINITY
    restsUntil = clock.monotonic() + REST * ttl
    await calls.call('write', () => leases.updateOne(mine, { $set: { holder: NO_HOLDER } }))
  }

  const renew = async (mine: number) => {
    const sent = clock.monotonic()
    const renewed = await calls.call('write', () =>
      leases.updateOne({ _id: name, holder: me, term: mine }, { $inc: { beat: 1 } }),
    )
    if (renewed.matchedCount > 0) until = sent + ttl
    else term = undefined
  }

  const take = async () => {
    const found = await calls.call('read', (limits) => leases.findOne({ _id: name }, limits))
    const now = clock.monotonic()
    if (!found) {
      await calls.call('write', () =>
        unlessDuplicate(leases.insertOne({ _id: name, holder: NO_HOLDER, term: 0, beat: 0 })),
      )
      return take()
    }
    if (found.term !== seen.term || found.beat !== seen.beat) seen = { term: found.term, beat: found.beat, since: now }
    // A lease that this instance gave up without an answer may still carry its name.
    const isFree = found.holder === NO_HOLDER || found.holder === me
    if (!isFree && now - seen.since <= ttl * 1.25) return
    const where = { _id: name, term: found.term, beat: found.beat }
    const update = { $set: { holder: me, term: found.term + 1 }, $inc: { beat: 1 } }
    const sent = clock.monotonic()
    const { matchedCount } = await calls.call('write', () => leases.updateOne(where, update))
    if (matchedCount === 0) return
    term = found.term + 1
    until = sent + ttl
  }

  // If the connection is lost, the lease is not renewed. The error is not reported here, because the work that needs
  // the lease reports its own errors.
  const next = async () => {
    if (term !== undefined) await (able() ? renew(term) : giveUp())
    else if (able() && clock.monotonic() >= restsUntil) await take()
  }
  const step = () => next().catch(() => undefined)
  let turn: Promise<void> | undefined
  const tick = () => {
    if (!closed) turn ??= step().finally(() => (turn = undefined))
  }
  tick()
  const timer = clock.every(ttl / 3, tick)

  return {
    held: () => !closed && clock.monotonic() < until && able(),
    onlyWhile: (given) => {
      able = given
    },
    close: async () => {
      closed = true
      timer.cancel()
      await turn
      if (term !== undefined) await giveUp().catch(() => undefined)
    },
  }
}

/** The head names the current snapshot and its number of chunks; a chunk holds bytes of one snapshot. */
type Stored = { readonly _id: string; readonly of: string; readonly chunks?: number; readonly data?: Binary }

const HEAD = 'head'
const CHUNK = 4 * 1_048_576

/** Splits the bytes into chunks of equal size; the last one may be smaller. */
async function* inChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + CHUNK - bytes)
      at += piece.length
      bytes += piece.length
      waiting.push(piece)
      if (bytes < CHUNK) continue
      yield Buffer.concat(waiting)
      ;[waiting, bytes] = [[], 0]
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/**
 * Snapshot in a collection. The chunks of a snapshot are written first, then the head that names them; the next write
 * removes chunks without a head.
 */
const mongoSnapshots = (db: Db, calls: Calls): Snapshots => {
  const stored = db.collection<Stored>('snapshots')
  const find = (_id: string) => calls.call('batch', (limits) => stored.findOne({ _id }, limits))
  const drop = (of: string) => calls.call('bulk', () => stored.deleteMany({ of: { $ne: of } }))
  return {
    read: async () => {
      const head = await find(HEAD)
      if (!head) return undefined
      const chunks: Uint8Array[] = []
      for (let n = 0; n < head.chunks!; n++) {
        const chunk = await find(`${head.of}/${n}`)
        chunks.push(chunk?.data?.value() ?? Buffer.alloc(0))
      }
      return Buffer.concat(chunks)
    },
    write: async (parts) => {
      const of = randomUUID()
      let chunks = 0
      for await (const chunk of inChunks(parts)) {
        const _id = `${of}/${chunks++}`
        await calls.call('bulk', () => stored.insertOne({ _id, of, data: new Binary(chunk) }))
      }
      await calls.call('bulk', () => stored.replaceOne({ _id: HEAD }, { of, chunks }, { upsert: true }))
      await drop(of)
    },
    remove: async () => void (await drop('')),
  }
}

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
    signingKeys: deploymentSigningKey(db, calls, clock),
    lease: (name, ttl) => mongoLease(db, calls, clock, name, ttl),
    close,
  }
}
