import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { UNUSABLE } from '../../adapters/embedded/files/directory.ts'
import type { OnLargeLog } from '../../adapters/embedded/files/watched-files.ts'
import type { Standing } from '../../adapters/embedded/keys.ts'
import type { Files } from '../../adapters/embedded/read-only.ts'
import { damagedFile } from '../../adapters/embedded/sqlite.ts'
import type { Renewal } from '../../adapters/embedded/views/renewable-views.ts'
import { type Limiter, limiter } from '../../auth/rate-limit.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf, Refusal } from '../../base/errors.ts'
import { fail, isFailure } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import type { Binding, EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { LedgerPorts } from '../../ledger/ledger-store.ts'
import type { Snapshots, View, Views } from '../../projections/views.ts'
import type { Logger } from '../telemetry/logger.ts'
import { outageLog } from '../telemetry/outage-log.ts'
import { damagedStart } from './damage.ts'
import { locateInDirectory } from './locate-keys.ts'
import { lazily, openLedgerInDirectory, openLedgerOnServers } from './open-ledger.ts'
import { readModelsOf } from './read-models.ts'
import { type InitialState, type Secrets, type StoreListeners, silent } from './store-listeners.ts'
import { verifyKeys, verifyLog } from './verify-log-and-keys.ts'

/** Stores of a deployment: the three ports, the keys of subjects, and the key of token digests and page tokens. */
export type Stores = {
  readonly log: EventLog
  readonly views: Views
  /** Snapshots of memory, so that a start need not read all rows of the views. */
  readonly snapshots: Snapshots
  readonly queue: Queue
  readonly adapters: Readonly<Record<'log' | 'views' | 'queue', string>>
  readonly keys: Keys
  readonly binding: Binding
  /** Opens the ledger at its first use. */
  readonly ledger: () => Promise<LedgerPorts>
  /** Rebuilds damaged read models while the service runs (embedded store only). */
  readonly renewal?: Renewal
  /** Files of an embedded store, for threads that read them directly. */
  readonly files?: Files
  /** Sizes in bytes of the write-ahead logs of an embedded store, with the names of their databases. */
  readonly writeAheadLogs?: () => Promise<readonly { readonly database: string; readonly bytes: number }[]>
  /** Examines the files of an embedded store while they are in use. Reports damage to the listeners. */
  readonly inspect?: (signal: AbortSignal) => Promise<void>
  readonly pepper: { readonly kid: string; readonly key: Uint8Array }
  /** True if no other instance writes to these stores, so that the memory of this instance is complete. */
  readonly alone: boolean
  /** True while this instance writes the read models. */
  readonly writes: () => boolean
  /** Restricts the lease: this instance writes the read models only while `able` returns true. */
  readonly writesWhile: (able: () => boolean) => void
  /** Limit of events per client and minute, counted over all instances that share these stores. */
  readonly limiter: (name: string, limit: number) => Limiter
  /** False while limits and jobs run without their shared server. */
  readonly sharing: () => boolean
  /** True while the disk of these stores is full. Always false for servers, which do not report it. */
  readonly full: () => boolean
  /** Counters of the connections and subscriptions that the client of the log has renewed. */
  readonly restarts: Readonly<Record<string, number>>
  /** Number of interruptions of the log: a subscription that ended, or an unreachable log. */
  readonly breaks: () => number
  readonly close: () => Promise<void>
}

/** The stores that writing an event needs. */
export type History = Pick<Stores, 'log' | 'keys' | 'pepper' | 'binding' | 'ledger' | 'alone' | 'close'>

/** Lifetime in ms of the lease of the writer of the read models. */
const LEASE_MS = 5_000

const EVICTS =
  'Redis evicts keys when its memory is full, so jobs may be forgotten and limits may count too few requests; set maxmemory-policy to noeviction'

/** Path of the log of an embedded store. */
export const eventsOf = ({ storage }: Config): string => join(storage.data_dir, 'events.sqlite')

/** Returns the path of a file of a data directory that a service has used; fails with exit code 4 if there is none. */
export const existing = (path: string, option = '--data'): string =>
  existsSync(path)
    ? path
    : fail('notFound', `There is no ${path}.`, `Set ${option} to a data directory in which a service has already run.`)

/** Listeners that log the fate of single files of a data directory. */
const fileNotices = (logger: Pick<Logger, 'info' | 'warn'>) => {
  const onSetAside = (file: string, { message }: Error): void =>
    logger.warn(
      { file, why: message },
      'damaged read models were set aside in a renamed file; they are rebuilt from the event log',
    )
  const onSnapshotSetAside = (file: string, { message }: Error): void =>
    logger.warn(
      { file, why: message },
      'the path of the memory snapshot is not a regular file, so the service renamed the object at this path',
    )
  const onLargeLog: OnLargeLog = (file, bytes, isLarge) =>
    isLarge
      ? logger.warn(
          { file, bytes },
          'a write-ahead log is large: another program holds a read transaction, or a backup runs; end that program, and the file shrinks',
        )
      : logger.info({ file, bytes }, 'the write-ahead log is small again')
  return { onSetAside, onSnapshotSetAside, onLargeLog }
}

/** Adds the data directory to errors, because most causes (such as a full disk) do not name it. */
const inDirectory = async <T>(directory: string, open: () => Promise<T>): Promise<T> => {
  try {
    return await open()
  } catch (cause) {
    if (isFailure(cause)) throw cause
    const found = cause instanceof Refusal && cause.cause instanceof Error ? cause.cause : cause
    const why = messageOf(found)
    if (found instanceof Error && 'code' in found && found.code === UNUSABLE)
      fail('usage', `data directory ${directory} cannot be used: ${why}`)
    if (damagedFile(found) !== undefined) throw damagedStart(`data directory ${directory} cannot be used: ${why}`)
    throw why.includes(directory) ? cause : new Error(`data directory ${directory} cannot be used: ${why}`, { cause })
  }
}

type Open = (config: Config, clock: Clock, listeners: StoreListeners, initial?: InitialState) => Promise<Stores>

/** Opens a data directory with SQLite files. This process is the only writer of the directory. */
const openDirectory: Open = async (config, clock, listeners, initial = {}) => {
  const { secrets, keepsTimes = false, acceptLostKeys, acceptDamagedLog } = initial
  const { onError = () => undefined, logger = silent, ...watching } = listeners
  const { openEmbedded } = await import('../../adapters/embedded/open.ts')
  const { openKeyFile } = await import('../../adapters/embedded/files/secret-file.ts')
  const { data_dir } = config.storage
  let own: Secrets | undefined
  const decide = async (standing: Standing) => {
    const { log: history } = standing
    const damage =
      history && (await verifyLog(history, await standing.look(), eventsOf(config), acceptDamagedLog, clock, logger))
    const { accepted } = await verifyKeys(await locateInDirectory(config, standing), acceptLostKeys, clock, logger)
    own = await openKeyFile(config.keys.file!, secrets)
    const { pepper, kek } = own
    return { kek, damage, accepted: accepted && ((log: EventLog) => accepted(log, pepper.kid)) }
  }
  const embedded = await inDirectory(data_dir, () =>
    openEmbedded(data_dir, { clock, kek: decide, onError, keepsTimes, ...watching, ...fileNotices(logger) }),
  )
  const { ledger, closeLedger } = lazily(() => openLedgerInDirectory(config, logger, embedded.watch))
  return {
    ...embedded,
    ledger,
    close: async () => {
      await closeLedger()
      await embedded.close()
    },
    adapters: { log: 'embedded', views: 'embedded', queue: 'embedded' },
    pepper: own!.pepper,
    alone: true,
    writes: () => true,
    writesWhile: () => undefined,
    limiter: (_, limit) => limiter(limit, clock),
    sharing: () => true,
    restarts: {},
    breaks: () => 0,
  }
}

/**
 * Name of the lease of the writer of the read models. A version with other read models has its own lease, because the
 * holder with the older version does not write them. During a rolling update a new instance cannot wait for that
 * holder.
 */
const leaseOf = (models: readonly View[]): string =>
  ['views', ...models.map(({ name, version }) => `${name}_${version}`).toSorted()].join(' ')

/**
 * Opens EventStoreDB, MongoDB and Redis, shared with other instances. On failure, everything opened so far is closed.
 */
const openCluster: Open = async (config, clock, listeners, initial) => {
  const { openServers } = await import('./open-servers.ts')
  const { openBullmq } = await import('../../adapters/redis/queue.ts')
  const { openRedisLimits } = await import('../../adapters/redis/rate-limit.ts')
  const { onError = () => undefined, logger = silent } = listeners
  const { mongo, closing, kek: _, ...servers } = await openServers(config, clock, listeners, initial)
  try {
    const { prefix, ...redis } = config.redis
    const place = { ...redis, url: redis.url! }
    const fault = outageLog(logger, clock).of('redis')
    const health = {
      failed: (error: unknown) => fault.failed('queue', 'share', error),
      worked: () => fault.worked('queue', 'share'),
    }
    const onPolicy = (policy: string): void => {
      if (policy !== 'noeviction') logger.warn({ policy }, EVICTS)
    }
    const queue = closing(await openBullmq(place, { clock, onError, health, onPolicy, prefix }))
    const limits = closing(openRedisLimits(place, { clock, key: servers.pepper.key, health, prefix }))
    const lease = closing(mongo.lease(leaseOf(readModelsOf(servers.pepper.key)), LEASE_MS))
    const { ledger } = lazily(() => openLedgerOnServers(config, mongo, logger))
    return {
      ...servers,
      ledger,
      views: mongo.views,
      snapshots: mongo.snapshots,
      queue,
      adapters: { log: 'eventstoredb', views: 'mongodb', queue: 'redis' },
      alone: false,
      writes: lease.held,
      writesWhile: lease.onlyWhile,
      limiter: limits.limiter,
      sharing: () => limits.ready() && fault.failing.size === 0,
      full: () => false,
    }
  } catch (error) {
    await servers.close()
    throw error
  }
}

const openers: Readonly<Record<Config['storage']['type'], Open>> = { embedded: openDirectory, cluster: openCluster }

/**
 * Opens the configured stores, and loads only their drivers. Fails before it creates anything if the keys do not match
 * the log.
 */
export const openStores: Open = (config, clock, listeners, initial) =>
  openers[config.storage.type](config, clock, listeners, initial)

/** Opens only the log and the keys on servers, for a program that writes events while the service may run. */
export const openHistory = async (config: Config, clock: Clock): Promise<History> => {
  const { openServers } = await import('./open-servers.ts')
  const { mongo, kek: _, ...servers } = await openServers(config, clock, {})
  return { ...servers, ...lazily(() => openLedgerOnServers(config, mongo, silent)), alone: false }
}
