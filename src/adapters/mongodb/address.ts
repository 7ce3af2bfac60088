import { MongoClient, type MongoClientOptions } from 'mongodb'
import { wrongWithFile } from '../named-file.ts'

/**
 * Timeouts of the driver. Selection and waiting for a connection end before a read does. The driver uses the timeout of
 * a connection also for its heartbeats, and a failed heartbeat ends all calls under way, so it is longer than any read
 * or write of one document.
 */
export const driverLimits = {
  serverSelectionTimeoutMS: 1_400,
  connectTimeoutMS: 5_000,
  socketTimeoutMS: 12_000,
  waitQueueTimeoutMS: 1_400,
  heartbeatFrequencyMS: 2_000,
} as const

/** Values of options that the address does not set. */
const defaults = { ...driverLimits, appName: 'rollcall', maxPoolSize: 20, retryReads: true, retryWrites: true } as const

/** Permitted values of an option in the address, and the reason for the limits. */
const bounds = [
  ['serverSelectionTimeoutMS', 100, 10_000, 'a call is refused after 2 s, and its place is free only after this time'],
  ['waitQueueTimeoutMS', 100, 10_000, 'a call is refused after 2 s, and its place is free only after this time'],
  ['connectTimeoutMS', 2_000, 30_000, 'a heartbeat without an answer in this time ends all calls under way'],
  ['socketTimeoutMS', 11_000, 120_000, 'the longest call takes 10 s, and connections without answers must end'],
  ['heartbeatFrequencyMS', 500, 10_000, 'a new primary must be found within seconds'],
  ['maxPoolSize', 5, 1_000, 'reads and writes each need connections'],
] as const

/** Share of the connections that writes may use, so that reads of a server that answers no write have some left. */
const WRITERS = 0.6

/** Names of the options in an address, in lower case, because the driver ignores case. */
const namesIn = (url: string): ReadonlySet<string> => {
  const query = url.slice(url.indexOf('?') + 1)
  return new Set([...new URLSearchParams(query).keys()].map((name) => name.toLowerCase()))
}

/** Options of the client: those of the address where it sets them, and those that keep acknowledged writes. */
export const clientOptions = (url: string): MongoClientOptions => {
  const given = namesIn(url)
  const own = Object.entries(defaults).filter(([name]) => !given.has(name.toLowerCase()))
  return {
    ...Object.fromEntries(own),
    writeConcern: { w: 'majority', journal: true },
    readConcernLevel: 'majority',
    useBigInt64: true,
    ignoreUndefined: true,
  }
}

/** Number of writes that may use a connection at the same time. */
export const writersOf = ({ maxPoolSize }: Pick<MongoClient['options'], 'maxPoolSize'>): number =>
  Math.floor(maxPoolSize * WRITERS)

/** Problem of an option in the address that the service can neither use nor ignore. */
const unusableOption = (url: string): string | undefined => {
  const given = namesIn(url)
  const { options } = new MongoClient(url, clientOptions(url))
  if (given.has('timeoutms')) return 'sets timeoutMS: remove it, because each call has a time limit of its own'
  const level = new MongoClient(url).options.readConcern?.level
  if (level !== undefined && level !== 'majority')
    return `sets readConcernLevel to ${level}: only majority never returns writes that a failover takes back`
  for (const [name, least, most, why] of bounds)
    if (given.has(name.toLowerCase()) && (options[name] < least || options[name] > most))
      return `sets ${name} to ${options[name]}: it must be from ${least} to ${most}, because ${why}`
  const { minPoolSize, maxPoolSize } = options
  return minPoolSize > maxPoolSize
    ? `sets minPoolSize to ${minPoolSize}: it must be at most maxPoolSize, which is ${maxPoolSize}`
    : undefined
}

/**
 * Driver messages about an address that repeat no part of it. Each part of an address may contain a user, a password or
 * a session token.
 */
const HARMLESS = [
  /^options? [\w, ]+ (?:is|are) not supported/,
  /^URI contained empty userinfo section/,
  /^(?:Username|Password) contains unescaped characters/,
  /^URI malformed/,
  /^Protocol and host list are required in the uri/,
  /^tls\/ssl must be either "true" or "false"/,
  /^Expected \w+ to be [\w ]+/,
  /^URI option "\w+" cannot be specified with no value/,
  /^Invalid read preference mode/,
  /^\w+ option requires [\w ]+/,
  /^authMechanism one of [\w,-]+/,
]

/** The driver omits the write concern if the address has none, although its type requires one. */
type AddressOptions = Pick<MongoClient['options'], 'readPreference'> &
  Partial<Pick<MongoClient['options'], 'writeConcern'>>

/** Problem of an option that would allow stale reads or the loss of acknowledged writes. */
const unsafe = ({ readPreference, writeConcern = {} }: AddressOptions): string | undefined => {
  if (readPreference.mode !== 'primary')
    return `sets readPreference to ${readPreference.mode}: only primary always has the latest writes`
  const { w = 'majority', journal = true } = writeConcern
  if (w !== 'majority') return 'sets w to a value other than majority: acknowledged writes could be lost'
  return journal ? undefined : 'sets journal=false: acknowledged writes could be lost'
}

/**
 * Returns the first problem of an address that can be found without connecting to a server (syntax, options, or the
 * files that it names); undefined if it has none.
 */
export const wrongWith = (url: string): string | undefined => {
  try {
    const { options } = new MongoClient(url)
    const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = options
    const problem = unsafe(options)
    if (problem !== undefined) return problem
    const unusable = unusableOption(url)
    if (unusable !== undefined) return unusable
    return [tlsCAFile, tlsCertificateKeyFile, tlsCRLFile].flatMap((path) => (path && wrongWithFile(path)) ?? [])[0]
  } catch (error) {
    const message = (error as Error).message
    const reason = HARMLESS.flatMap((form) => form.exec(message)?.[0] ?? [])[0]
    return reason === undefined ? 'cannot be read' : `cannot be read: ${reason}`
  }
}
