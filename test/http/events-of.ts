import { join } from 'node:path'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import type { Meta } from '../../src/events/meta.ts'
import { openLogOf } from '../cluster/named-servers.ts'
import { clusterOf, onCluster } from '../cluster/own.ts'

export type Told = {
  readonly stream: string
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly meta: Meta
  readonly position: number
}

type Texts = Readonly<Record<'stream' | 'id' | 'type' | 'data' | 'meta', string>> & {
  readonly position: number | bigint
}

const inFile = async (directory: string): Promise<readonly Texts[]> => {
  const database = await openDatabase(join(directory, 'data', 'events.sqlite'), 'read')
  try {
    return database
      .prepare('select position, stream, id, type, data, meta from events order by position')
      .all() as Texts[]
  } finally {
    database.close()
  }
}

const onServer = async (directory: string): Promise<readonly Texts[]> => {
  const log = await openLogOf(await clusterOf(directory))
  try {
    const texts: Texts[] = []
    for await (const page of log.readAll(0n)) texts.push(...page)
    return texts
  } finally {
    await log.close()
  }
}

/** Returns the matching events of a service's log in order, while the service runs. */
export const allEventsOf = async (
  directory: string,
  fits: (event: Told) => boolean = () => true,
): Promise<readonly Told[]> =>
  (await (onCluster ? onServer : inFile)(directory))
    .map(
      ({ stream, id, type, data, meta, position }): Told => ({
        stream,
        id,
        type,
        position: Number(position),
        data: JSON.parse(data),
        meta: JSON.parse(meta),
      }),
    )
    .filter(fits)

/** Returns the matching events as `allEventsOf`, without those about instances. */
export const eventsOf = async (
  directory: string,
  fits: (event: Told) => boolean = () => true,
): Promise<readonly Told[]> => allEventsOf(directory, (event) => !event.stream.startsWith('instance-') && fits(event))
