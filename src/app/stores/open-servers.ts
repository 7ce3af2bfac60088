import { openKeyFile } from '../../adapters/embedded/files/secret-file.ts'
import { type EventStore, openEventStore } from '../../adapters/eventstoredb/open.ts'
import { openMongo } from '../../adapters/mongodb/open.ts'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import { catalog } from '../../events/catalog.ts'
import { locateOnServers } from './locate-keys.ts'
import { insistOnAddresses } from './store-addresses.ts'
import { type InitialState, type StoreListeners, silent } from './store-listeners.ts'
import { verifyKeys } from './verify-log-and-keys.ts'

/**
 * Fails if EventStoreDB has events under another prefix and none under this one. A new history in addition to the old
 * one would look like the loss of all data.
 */
const insistOnPrefix = async (log: EventStore, prefix: string): Promise<void> => {
  const other = (await log.first()) === undefined ? await log.otherPrefix() : undefined
  if (other === undefined) return
  const [theirs, ours] = [other, prefix].map((each) =>
    each === '' ? 'without a prefix' : `under the prefix "${each}"`,
  )
  fail(
    'failed',
    `EventStoreDB has events ${theirs} and no events ${ours}.`,
    `To use those events, set eventstore.stream_prefix: '${other}'. To start a second history, set eventstore.shared: true.`,
  )
}

/** Wraps errors in a message that names the server but not its address. */
const reaching = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    throw new Error(`${name} is unreachable or refuses the connection`, { cause })
  }
}

/**
 * Opens the log in EventStoreDB and the keys in MongoDB. `closing` registers resources that `close` closes first. On
 * failure, everything opened so far is closed.
 */
export const openServers = async (
  config: Config,
  clock: Clock,
  { onError = () => undefined, logger = silent }: StoreListeners,
  { secrets, acceptLostKeys, mustExist = false }: InitialState = {},
) => {
  await insistOnAddresses(config)
  const { mongodb, eventstore } = config
  const { file } = config.keys
  const opened: { readonly close: () => Promise<void> }[] = []
  const closing = <T extends { readonly close: () => Promise<void> }>(one: T): T => {
    opened.push(one)
    return one
  }
  const close = async () => {
    for (const one of opened.toReversed()) await one.close()
  }
  try {
    const { url, database } = mongodb
    const onMongoError = (error: unknown) => onError('mongodb', error)
    const mongo = closing(
      await reaching('mongodb', () =>
        openMongo(url!, database, { clock, bulk: mongodb.bulk_size, onError: onMongoError }),
      ),
    )
    const restarts = { connection: 0, subscription: 0 }
    const onRestart = (what: keyof typeof restarts) => void restarts[what]++
    let broken = 0
    const onBreak = () => void broken++
    const breaks = () => broken
    const { stream_prefix: prefix } = eventstore
    const options = { clock, prefix, categories: Object.keys(catalog), onError, onRestart, onBreak }
    const log = closing(await openEventStore(eventstore.url!, options))
    const head = await reaching('eventstore', () => log.head())
    if (mustExist && head === 0n) fail('notFound', 'The log on the servers has no event.')
    if (!eventstore.shared) await insistOnPrefix(log, prefix)
    const { accepted } = await verifyKeys(await locateOnServers(config, mongo, log), acceptLostKeys, clock, logger)
    const inFile = file === undefined ? undefined : await openKeyFile(file, secrets)
    const { pepper, kek } = await mongo.deploymentKeys(inFile, secrets, accepted !== undefined)
    await accepted?.(log, pepper.kid)
    const keys = await mongo.keys(kek, accepted !== undefined)
    return { log, keys, pepper, kek, binding: mongo.binding, restarts, breaks, mongo, closing, close }
  } catch (error) {
    await close()
    throw error
  }
}
