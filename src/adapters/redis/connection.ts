import { Cluster, Redis } from 'ioredis'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { type Address, addressOf, type RedisPlace } from './address.ts'

export type Client = Redis | Cluster

/** Receives reports about failures and answers of Redis. */
export type Health = {
  /** A connection is lost or cannot be made, or Redis refuses or does not answer. */
  readonly failed: (error: unknown) => void
  /** Redis answered. */
  readonly worked: () => void
}

/** Default prefix of keys. */
export const PREFIX = 'rollcall'
/**
 * Text at the beginning of all keys. Because of its braces, a Redis Cluster stores all keys of the deployment on one
 * node.
 */
export const keysOf = (prefix: string): string => `{${prefix}}`

/** Timeout of a call to Redis in ms. */
export const PATIENCE_MS = 1000

/**
 * Result of the work, or undefined if it fails or takes longer than `ms` ms. A result that arrives later is discarded.
 */
export const soon = <T>(clock: Pick<Clock, 'after'>, work: Promise<T>, ms = PATIENCE_MS): Promise<T | undefined> => {
  const nothing = () => undefined
  return withTimeout(clock, ms, work.catch(nothing), nothing)
}

const retry = (times: number): number => Math.min(PATIENCE_MS, 50 * times)

/** Error of a single node or address, taken from the error that summarizes all of them. */
const causeOf = (error: unknown): unknown => {
  if (error instanceof AggregateError) return error.errors[0]
  return error instanceof Error && 'lastNodeError' in error ? (error.lastNodeError ?? error) : error
}

/** Options of both kinds of connections. `patient` connections queue commands until the server is available again. */
const optionsOf = ({ credentials, tls }: Address, patient: boolean) => ({
  ...credentials,
  ...(tls && { tls }),
  connectTimeout: PATIENCE_MS,
  keepAlive: 10_000,
  // Older Redis servers, and users with few rights, reject this command.
  disableClientInfo: true,
  ...(patient
    ? { maxRetriesPerRequest: null }
    : { maxRetriesPerRequest: 1, commandTimeout: PATIENCE_MS, autoResendUnfulfilledCommands: false }),
})

const clusterOf = (address: Address, patient: boolean): Cluster =>
  new Cluster([...address.nodes], {
    enableOfflineQueue: patient,
    clusterRetryStrategy: retry,
    // Host names stay unresolved, because certificates are verified against them.
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
 * Connection that reconnects for ever and reports each lost or failed connection. With `patient`, commands wait for the
 * server (required by BullMQ); otherwise they fail if the server is unavailable or does not answer.
 */
export const connectRedis = (place: RedisPlace, patient: boolean, { failed }: Pick<Health, 'failed'>): Client => {
  const address = addressOf(place)
  const client = (address.mode === 'cluster' ? clusterOf : serverOf)(address, patient)
  client.on('error', (error: unknown) => failed(causeOf(error)))
  return client
}

/** Commands that had no answer when the connection was lost. */
type Unanswered = { readonly prevCommandQueue?: Redis['commandQueue'] | null }
/**
 * Closes a client that is not connected to a server at the moment, which the close function of ioredis does not do.
 * Without this, BullMQ keeps the process alive for up to eleven seconds because of pending commands.
 */
const endAlone = (redis: Redis) => {
  if (redis.status !== 'reconnecting' && redis.status !== 'end') return
  const closed = new Error('Connection is closed.')
  redis['setStatus']('end')
  redis['flushQueue'](closed)
  const { prevCommandQueue: unanswered } = redis as Redis & Unanswered
  for (let item = unanswered?.shift(); item; item = unanswered?.shift()) item.command.reject(closed)
}

/** Line of INFO with the eviction policy. */
const POLICY = /^maxmemory_policy:(.*?)\r?$/m

/**
 * Passes the eviction policy in each answer of INFO to `onPolicy`, and removes it from the answer, because BullMQ would
 * print a line for each connection.
 */
const watchPolicy = (client: Client, onPolicy: (policy: string) => void): void => {
  const ask = client.info.bind(client) as (...sections: string[]) => Promise<string>
  const info = async (...sections: string[]): Promise<string> => {
    const answer = await ask(...sections)
    const policy = POLICY.exec(answer)?.[1]
    if (policy !== undefined) onPolicy(policy)
    return answer.replace(POLICY, '')
  }
  Object.assign(client, { info })
}

/**
 * Returns a function that permanently ends a connection and all connections duplicated from it. If the server is down,
 * BullMQ does not end its own connections, or even opens them again. `onPolicy` receives the eviction policy of Redis
 * at each INFO of BullMQ.
 */
export const familyOf = (client: Client, onPolicy: (policy: string) => void = () => undefined): (() => void) => {
  const family: Client[] = [client]
  watchPolicy(client, onPolicy)
  const adopt = <C extends Client>(another: C): C => {
    another.on('error', () => undefined)
    watchPolicy(another, onPolicy)
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
      each.connect = () => Promise.reject(new Error('this connection is closed'))
      // A second disconnect would prevent the process from ending for two seconds.
      if (each.status !== 'end') each.disconnect()
      if (each instanceof Redis) endAlone(each)
    }
  }
}
