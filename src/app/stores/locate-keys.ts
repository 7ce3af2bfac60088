import { join } from 'node:path'
import type { Standing } from '../../adapters/embedded/keys.ts'
import type { Mongo } from '../../adapters/mongodb/open.ts'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import type { EventLog } from '../../events/log.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Views } from '../../projections/views.ts'
import { digestsOf, type Found } from './verify-log-and-keys.ts'

/** Number of events at the end of the log that are searched for recent tokens. */
const LATELY = 1_000n

const latelyIssued = async (log: Pick<EventLog, 'head' | 'readAll'>): Promise<readonly string[]> => {
  const head = await log.head()
  const digests: string[] = []
  for await (const page of log.readAll(head > LATELY ? head - LATELY : 0n)) digests.push(...digestsOf(page))
  return digests
}

const inViews = async (views: Pick<Views, 'checkpoint' | 'scan'>): Promise<readonly string[]> => {
  if ((await views.checkpoint(tokens)) === undefined) return []
  for await (const page of views.scan<TokenDoc>(tokens)) return page.flatMap(({ doc }) => (doc ? [doc.digest] : []))
  return []
}

/** Returns the log and the keys found in a data directory. Creates nothing. */
export const locateInDirectory = async (config: Config, { log, subjects }: Standing): Promise<Found> => {
  const { readKeyFile } = await import('../../adapters/embedded/files/secret-file.ts')
  const file = config.keys.file!
  return {
    log,
    lately: () => latelyIssued(log!),
    keys: await readKeyFile(file),
    shared: true,
    subjects,
    places: { keys: file, subjects: join(config.storage.data_dir, 'subjects.sqlite') },
  }
}

/** Returns the log and the keys found on the servers. Creates nothing. */
export const locateOnServers = async (
  config: Config,
  { standing, views }: Pick<Mongo, 'standing' | 'views'>,
  log: EventLog,
): Promise<Found> => {
  const { readKeyFile } = await import('../../adapters/embedded/files/secret-file.ts')
  const { file } = config.keys
  const { deployment, subjects } = await standing()
  if (file === undefined && deployment && !deployment.keys)
    fail('check', 'This deployment keeps its keys in a key file.', 'Set keys.file to a copy of that key file.')
  const given = file === undefined ? undefined : await readKeyFile(file)
  if (file !== undefined && !given && deployment?.keys)
    fail(
      'check',
      `The key file ${file} is missing, because this deployment keeps its keys in MongoDB.`,
      'Remove keys.file from the configuration, or write those keys to the file: see docs/guides/operations.md, Kubernetes.',
    )
  const { database } = config.mongodb
  return {
    log,
    lately: () => inViews(views),
    keys: file === undefined ? deployment?.keys : given,
    shared: !deployment || !given || deployment.are(given),
    subjects,
    places: {
      keys: file ?? `the collection "deployment" of the MongoDB database "${database}"`,
      subjects: `the collection "subjects" of the MongoDB database "${database}"`,
    },
  }
}
