import { Redis } from 'ioredis'
import { within } from '../../concurrency.ts'

/** Milliseconds after which an answer of Redis is no longer waited for. */
export const PATIENCE_MS = 1000

/** The work's result, or undefined when it fails or takes longer than that; what comes later is dropped. */
export const soon = <T>(work: Promise<T>, ms = PATIENCE_MS): Promise<T | undefined> => {
  const nothing = () => undefined
  return within(ms, work.catch(nothing), nothing)
}

/**
 * A connection that looks for its server for ever, and tells `onError` once of each time it is lost. `patient` = commands wait for the
 * server's return (BullMQ needs that); otherwise they fail when it is away or does not answer.
 */
export const connectRedis = (url: string, patient: boolean, onError: (error: unknown) => void): Redis => {
  const impatient = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: PATIENCE_MS,
    autoResendUnfulfilledCommands: false,
  }
  const client = new Redis(url, {
    connectTimeout: PATIENCE_MS,
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(PATIENCE_MS, 50 * times),
    ...(patient ? { maxRetriesPerRequest: null } : impatient),
  })
  let told = false
  client.on('error', (error: unknown) => {
    if (!told) onError(error)
    told = true
  })
  client.on('ready', () => {
    told = false
  })
  return client
}

/** Ends a connection and all that were made from it, for good; BullMQ does not end its own, or even opens them again, when the server is away. */
export const familyOf = (client: Redis): (() => void) => {
  const family = [client]
  const duplicate = client.duplicate.bind(client)
  client.duplicate = (override) => {
    const another = duplicate(override)
    another.on('error', () => undefined)
    family.push(another)
    return another
  }
  return () => {
    for (const each of family) {
      each.options.retryStrategy = () => null
      each.connect = () => Promise.reject(new Error('this connection has ended'))
      each.disconnect()
    }
  }
}
