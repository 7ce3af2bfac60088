import { Cluster, Redis } from 'ioredis'
import { type Clock, withTimeout } from '../../clock.ts'
import { type Address, addressOf, type RedisPlace } from './address.ts'

export type Client = Redis | Cluster

/** Hears how Redis does. */
export type Health = {
  /** A connection was lost or cannot be made, or Redis refuses or does not answer. */
  readonly failed: (error: unknown) => void
  /** Redis answered. */
  readonly worked: () => void
}

/** What keys begin with where nothing is said. */
export const PREFIX = 'rollcall'
/** What keys begin with: the braces keep all of them on one node of a Redis Cluster. */
export const keysOf = (prefix: string): string => `{${prefix}}`

/** Milliseconds after which an answer of Redis is no longer waited for. */
export const PATIENCE_MS = 1000

/** The work's result, or undefined when it fails or takes longer than that; what comes later is dropped. */
export const soon = <T>(clock: Pick<Clock, 'after'>, work: Promise<T>, ms = PATIENCE_MS): Promise<T | undefined> => {
  const nothing = () => undefined
  return withTimeout(clock, ms, work.catch(nothing), nothing)
}

const retry = (times: number): number => Math.min(PATIENCE_MS, 50 * times)

/** The error of a node or an address in place of the one that says that all of them failed. */
const causeOf = (error: unknown): unknown => {
  if (error instanceof AggregateError) return error.errors[0]
  return error instanceof Error && 'lastNodeError' in error ? (error.lastNodeError ?? error) : error
}

/** What both kinds of connection are told: `patient` ones keep what they are asked until the server is back. */
const optionsOf = ({ credentials, tls }: Address, patient: boolean) => ({
  ...credentials,
  ...(tls && { tls }),
  connectTimeout: PATIENCE_MS,
  keepAlive: 10_000,
  // Older servers and users with few rights refuse it.
  disableClientInfo: true,
  ...(patient
    ? { maxRetriesPerRequest: null }
    : { maxRetriesPerRequest: 1, commandTimeout: PATIENCE_MS, autoResendUnfulfilledCommands: false }),
})

const clusterOf = (address: Address, patient: boolean): Cluster =>
  new Cluster([...address.nodes], {
    enableOfflineQueue: patient,
    clusterRetryStrategy: retry,
    // Names are left as they are, for certificates are checked by them.
    dnsLookup: (name, callback) => callback(null, name),
    redisOptions: optionsOf(address, patient),
  })

const serverOf = (address: Address, patient: boolean): Redis => {
  const { mode, nodes, master, sentinel, database, tls } = address
  const sentinels = {
    sentinels: [...nodes],
    name: master,
    ...sentinel,
    sentinelCommandTimeout: PATIENCE_MS,
    sentinelRetryStrategy: retry,
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  }
  return new Redis({
    ...optionsOf(address, patient),
    ...(mode === 'sentinel' ? sentinels : nodes[0]),
    enableOfflineQueue: patient,
    db: database,
    retryStrategy: retry,
  })
}

/**
 * A connection that looks for its server for ever, and says whenever one is lost or cannot be made. `patient` = commands wait for the
 * server's return (BullMQ needs that); otherwise they fail when it is away or does not answer.
 */
export const connectRedis = (place: RedisPlace, patient: boolean, { failed }: Pick<Health, 'failed'>): Client => {
  const address = addressOf(place)
  const client = (address.mode === 'cluster' ? clusterOf : serverOf)(address, patient)
  client.on('error', (error: unknown) => failed(causeOf(error)))
  return client
}

/** What a connection was asked and had not answered when it was lost. */
type Unanswered = { readonly prevCommandQueue?: Redis['commandQueue'] | null }
/** Ends what has no server just now: ioredis never would, and BullMQ keeps a timer of up to eleven seconds for what it was asked. */
const endAlone = (redis: Redis) => {
  if (redis.status !== 'reconnecting' && redis.status !== 'end') return
  const closed = new Error('Connection is closed.')
  redis['setStatus']('end')
  redis['flushQueue'](closed)
  const { prevCommandQueue: unanswered } = redis as Redis & Unanswered
  for (let item = unanswered?.shift(); item; item = unanswered?.shift()) item.command.reject(closed)
}

/** Ends a connection and all that were made from it, for good; BullMQ does not end its own, or even opens them again, when the server is away. */
export const familyOf = (client: Client): (() => void) => {
  const family: Client[] = [client]
  const adopt = <C extends Client>(another: C): C => {
    another.on('error', () => undefined)
    family.push(another)
    return another
  }
  if (client instanceof Cluster) {
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (nodes, override) => adopt(duplicate(nodes, override))
  } else {
    const duplicate = client.duplicate.bind(client)
    client.duplicate = (override) => adopt(duplicate(override))
  }
  return () => {
    for (const each of family) {
      if (each instanceof Cluster) each.options.clusterRetryStrategy = () => null
      else each.options.retryStrategy = () => null
      each.connect = () => Promise.reject(new Error('this connection has ended'))
      each.disconnect()
      if (each instanceof Redis) endAlone(each)
    }
  }
}
