import { join } from 'node:path'
import type { Standing } from '../adapters/embedded/standing.ts'
import { isFailure } from '../cli/failure.ts'
import type { KeyFile } from '../adapters/embedded/key-file.ts'
import type { Config } from '../config/load.ts'
import { insistOnAddresses } from './store-addresses.ts'
import { catalog } from '../events/catalog.ts'
import type { Binding } from '../events/binding.ts'
import type { Keys } from '../events/personal.ts'
import type { EventLog } from '../events/log.ts'
import type { Fatal } from './fatal.ts'
import { keysFit } from './keys-fit.ts'
import { foundInDirectory, foundOnServers } from './keys-found.ts'
import type { Logger } from './logger.ts'
import { type Limiter, limiter } from '../auth/rate-limit.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Views } from '../projections/views.ts'

/** Where this deployment lives: the three ports, the keys of subjects, and the key that token digests and page tokens are made with. */
export type Stores = {
  readonly log: EventLog
  readonly views: Views
  readonly queue: Queue
  /** What each port lives in, by name. */
  readonly adapters: Readonly<Record<'log' | 'views' | 'queue', string>>
  readonly keys: Keys
  readonly binding: Binding
  readonly pepper: { readonly kid: string; readonly key: Uint8Array }
  /** True when no other instance writes to these stores, so what this instance knows is all there is. */
  readonly alone: boolean
  /** True while this instance is the one that follows the log for the views. */
  readonly writes: () => boolean
  /** A limit on events a client and minute, counted over all instances that share these stores. */
  readonly limiter: (name: string, limit: number) => Limiter
  /** False while limits and jobs go on without the server they share. */
  readonly sharing: () => boolean
  /** True while the disk of these stores is full; servers do not say so of theirs. */
  readonly full: () => boolean
  /** Counters of the connections and subscriptions that the log's client has renewed. */
  readonly restarts: Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

/** The service's own secrets, which tokens and personal data are sealed with. */
export type Secrets = KeyFile

/** How long the instance that writes the views may be silent before another takes over; milliseconds. */
const LEASE_MS = 5_000

/** Listeners for what happens to the stores. */
export type Told = {
  /** A job or a server failed. */
  readonly onError?: (job: string, error: unknown) => void
  /** The disk is full, or has room again. */
  readonly onFull?: (full: boolean) => void
  /** A fault that the stores do not recover from. */
  readonly fatal?: Fatal
  /** Where what concerns the operator is told. */
  readonly logger?: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** What a place may begin with. */
export type Beginning = {
  /** The secrets of a place that has none yet. */
  readonly secrets?: Secrets
  /** Why the service goes on though keys that its history was written with are lost. */
  readonly acceptLostKeys?: string | undefined
}

const silent: Pick<Logger, 'info' | 'warn' | 'error'> = { info: () => {}, warn: () => {}, error: () => {} }

/** The history of an embedded store. */
export const eventsOf = ({ storage }: Config): string => join(storage.data_dir, 'events.sqlite')

/** Says which directory it is that cannot be used; most causes (a full disk) do not name it. */
const inDirectory = async <T>(directory: string, open: () => Promise<T>): Promise<T> => {
  try {
    return await open()
  } catch (cause) {
    if (isFailure(cause)) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw why.includes(directory) ? cause : new Error(`data directory ${directory} cannot be used: ${why}`, { cause })
  }
}

type Open = (config: Config, told: Told, beginning?: Beginning) => Promise<Stores>

/** One directory with SQLite files, which this process alone writes to. */
const openDirectory: Open = async (config, told, { secrets, acceptLostKeys } = {}) => {
  const { onError = () => undefined, onFull, fatal, logger = silent } = told
  const { openEmbedded } = await import('../adapters/embedded/open.ts')
  const { openKeyFile } = await import('../adapters/embedded/key-file.ts')
  const { data_dir } = config.storage
  let own: Secrets | undefined
  const decide = async (standing: Standing) => {
    const { accepted } = await keysFit(await foundInDirectory(config, standing), acceptLostKeys, logger)
    own = await openKeyFile(config.keys.file!, secrets)
    const { pepper, kek } = own
    return { kek, accepted: accepted && ((log: EventLog) => accepted(log, pepper.kid)) }
  }
  const onLost = (error: Error) =>
    fatal?.(error, 'rollcall ends: the embedded store can be written no more by this process')
  const embedded = await inDirectory(data_dir, () =>
    openEmbedded(data_dir, { kek: decide, onError, onLost, ...(onFull && { onFull }) }),
  )
  return {
    ...embedded,
    adapters: { log: 'embedded', views: 'embedded', queue: 'embedded' },
    pepper: own!.pepper,
    alone: true,
    writes: () => true,
    limiter: (_, limit) => limiter(limit),
    sharing: () => true,
    restarts: {},
  }
}

/** Names the server that is out of reach or refuses, and nothing of where it is. */
const reaching = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    throw new Error(`${name} is out of reach or refuses`, { cause })
  }
}

/** EventStoreDB, MongoDB and Redis, shared with other instances. What is opened in vain is closed again. */
const openCluster: Open = async (
  config,
  { onError = () => undefined, logger = silent },
  { secrets, acceptLostKeys } = {},
) => {
  await insistOnAddresses(config)
  const { mongodb, eventstore, redis } = config
  const { file } = config.keys
  const { openEventStore } = await import('../adapters/eventstoredb/open.ts')
  const { openMongo } = await import('../adapters/mongodb/open.ts')
  const { openBullmq } = await import('../adapters/redis/queue.ts')
  const { openRedisLimits } = await import('../adapters/redis/rate-limit.ts')
  const { openKeyFile } = await import('../adapters/embedded/key-file.ts')
  const opened: { readonly close: () => Promise<void> }[] = []
  const closing = <T extends { readonly close: () => Promise<void> }>(one: T): T => {
    opened.push(one)
    return one
  }
  const close = async () => {
    for (const one of opened.toReversed()) await one.close()
  }
  const telling = (what: string) => (error: unknown) => onError(what, error)
  try {
    const { url, database } = mongodb
    const mongo = closing(
      await reaching('mongodb', () =>
        openMongo(url!, database, { bulk: mongodb.bulk_size, onError: telling('mongodb') }),
      ),
    )
    const restarts = { connection: 0, subscription: 0 }
    const onRestart = (what: keyof typeof restarts) => void restarts[what]++
    const log = closing(await openEventStore(eventstore.url!, { categories: Object.keys(catalog), onError, onRestart }))
    await reaching('eventstore', () => log.head())
    const found = await foundOnServers(config, mongo, log)
    const { accepted } = await keysFit(found, acceptLostKeys, logger)
    const inFile = file === undefined ? undefined : await openKeyFile(file, secrets)
    const { pepper, kek } = await mongo.deploymentKeys(inFile, secrets, accepted !== undefined)
    await accepted?.(log, pepper.kid)
    const keys = await mongo.keys(kek, accepted !== undefined)
    const queue = closing(await openBullmq(redis.url!, { onError }))
    const limits = closing(openRedisLimits(redis.url!, { key: pepper.key, onError: telling('limits') }))
    const lease = closing(mongo.lease('views', LEASE_MS))
    return {
      log,
      views: mongo.views,
      queue,
      adapters: { log: 'eventstoredb', views: 'mongodb', queue: 'redis' },
      keys,
      binding: mongo.binding,
      pepper,
      alone: false,
      writes: lease.held,
      limiter: limits.limiter,
      sharing: limits.ready,
      full: () => false,
      restarts,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const openers: Readonly<Record<Config['storage']['type'], Open>> = { embedded: openDirectory, cluster: openCluster }

/** Opens the stores that the configuration names; drivers are loaded only for those. Fails before anything is made where the keys are not those that the history was written with. */
export const openStores: Open = (config, told, beginning) => openers[config.storage.type](config, told, beginning)
