import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type EventData, EventStoreDBClient } from '@eventstore/db-client'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { STREAM_PREFIX } from '../../src/adapters/eventstoredb/open.ts'
import { clusterOf, onCluster } from '../cluster/own.ts'

/** Foreign event: of a newer version, of another program, or damaged. `data` is any text. */
export type Foreign = { readonly stream: string; readonly type: string; readonly data: string }

const inFile = async (directory: string, events: readonly Foreign[]): Promise<void> => {
  const database = await openDatabase(join(directory, 'data', 'events.sqlite'), 'durable')
  try {
    const insert = database.prepare(
      `insert into events (stream, revision, id, type, time, data, meta) values
       (?, (select coalesce(max(revision), -1) + 1 from events where stream = ?), ?, ?, (select max(time) from events), ?, '{}')`,
    )
    for (const { stream, type, data } of events) insert.run(stream, stream, randomUUID(), type, data)
  } finally {
    database.close()
  }
}

const credentials = { username: 'admin', password: 'changeit' }
const withClient = async (
  directory: string,
  work: (client: EventStoreDBClient, prefix: string) => Promise<unknown>,
): Promise<void> => {
  const { 'eventstore.url': url, 'eventstore.stream_prefix': prefix = STREAM_PREFIX } = await clusterOf(directory)
  const client = EventStoreDBClient.connectionString(url!)
  try {
    await work(client, prefix)
  } finally {
    await client.dispose()
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const onServer = (directory: string, events: readonly Foreign[]): Promise<void> =>
  withClient(directory, async (client, prefix) => {
    for (const { stream, type, data } of events) {
      const event = isJson(data)
        ? { contentType: 'application/json', data: JSON.parse(data) as object }
        : { contentType: 'application/octet-stream', data: Buffer.from(data) }
      const written = { ...event, id: randomUUID(), type, metadata: {} } as unknown as EventData
      await client.appendToStream(prefix + stream, [written], { credentials })
    }
  })

/** Writes events to the log of a directory without the service. An embedded log must not be open. */
export const writeForeign = (directory: string, ...events: readonly Foreign[]): Promise<void> =>
  (onCluster ? onServer : inFile)(directory, events)

/** Makes the server drop all events of a stream except the last. */
export const forgetAllButLast = (directory: string, stream: string): Promise<void> =>
  withClient(directory, (client, prefix) => client.setStreamMetadata(prefix + stream, { maxCount: 1 }, { credentials }))
