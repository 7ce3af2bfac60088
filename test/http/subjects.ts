import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { Binary, type Collection, MongoClient } from 'mongodb'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { clusterOf, onCluster } from '../cluster/own.ts'
import type { Started } from '../start.ts'
import { eventsOf } from './events-of.ts'

/** A wrapped key that no key decrypts. */
const DAMAGED = Buffer.alloc(60)

/** Changes the keys of all people in the store of a stopped service. */
const withKeys = async (
  { directory }: Started,
  sql: string,
  onServer: 'delete' | 'unset' | 'damage',
): Promise<void> => {
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
  if (onServer === 'delete') await people.deleteMany(all)
  else
    await people.updateMany(all, onServer === 'unset' ? { $unset: { key: 1 } } : { $set: { key: new Binary(DAMAGED) } })
  await client.close()
}

/** Removes the keys of all people, as an older backup does. */
export const loseKeys = (service: Started): Promise<void> => withKeys(service, 'delete from subjects', 'delete')

/** Leaves a tombstone in place of the keys of all people, without an erasure in the log. */
export const destroyKeys = (service: Started): Promise<void> =>
  withKeys(service, 'update subjects set key = null', 'unset')

/** Erases all people who logged in, through a running service. */
export const erasePeople = async ({ directory, request }: Started): Promise<void> => {
  const issued = await eventsOf(directory, ({ type, data }) => type.startsWith('TokenIssued') && 'subject' in data)
  if (issued.length === 0) throw new Error('no person has logged in')
  for (const subject of new Set(issued.map(({ data }) => data['subject']))) {
    const { status } = await request('POST', '/audit/v1/subjects/erase', { subject, reason: 'request of the person' })
    if (status !== 200) throw new Error(`the erasure of a person was answered ${status}`)
  }
}

/** Damages the keys of all people. */
export const damageKeys = (service: Started): Promise<void> =>
  withKeys(service, 'update subjects set key = zeroblob(60)', 'damage')

/** Copies the keys of an embedded store or of servers. Returns a function that puts the copy back. */
export const copyKeys = async ({ directory }: Started): Promise<() => Promise<void>> => {
  if (!onCluster) {
    const file = join(directory, 'data', 'subjects.sqlite')
    await cp(file, `${file}.copy`)
    return () => cp(`${file}.copy`, file)
  }
  const settings = await clusterOf(directory)
  const onServer = async <T>(work: (keys: Collection) => Promise<T>): Promise<T> => {
    const client = await new MongoClient(settings['mongodb.url']!).connect()
    try {
      return await work(client.db(settings['mongodb.database']).collection('subjects'))
    } finally {
      await client.close()
    }
  }
  const copy = await onServer((keys) => keys.find().toArray())
  return () =>
    onServer(async (keys) => {
      await keys.deleteMany({})
      await keys.insertMany(copy)
    })
}
