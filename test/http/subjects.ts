import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { clusterOf, onCluster } from '../cluster/own.ts'
import type { Started } from '../start.ts'

/** Changes the keys of all people in the store of a stopped service. */
const withKeys = async ({ directory }: Started, sql: string, onServer: 'delete' | 'unset'): Promise<void> => {
  if (!onCluster) {
    const subjects = await openDatabase(join(directory, 'data', 'subjects.sqlite'), 'erasing')
    subjects.exec(`${sql} where subject like 'person-%'`)
    subjects.close()
    return
  }
  const settings = await clusterOf(directory)
  const client = await new MongoClient(settings['mongodb.url']!).connect()
  const people = client.db(settings['mongodb.database']).collection<{ _id: string; key?: unknown }>('subjects')
  const all = { _id: /^person-/ }
  await (onServer === 'delete' ? people.deleteMany(all) : people.updateMany(all, { $unset: { key: 1 } }))
  await client.close()
}

/** Removes the keys of all people, as an older backup does. */
export const loseKeys = (service: Started): Promise<void> => withKeys(service, 'delete from subjects', 'delete')

/** Destroys the keys of all people. */
export const eraseKeys = (service: Started): Promise<void> =>
  withKeys(service, 'update subjects set key = null', 'unset')
