import { join } from 'node:path'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import type { Meta } from '../../src/events/log.ts'

export type Told = {
  readonly stream: string
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly meta: Meta
}

/** The events of a service's log that fit, in order, as an analyst reads them while the service runs. */
export const eventsOf = async (directory: string, fits: (event: Told) => boolean = () => true): Promise<readonly Told[]> => {
  const database = await openDatabase(join(directory, 'data', 'events.sqlite'), 'read')
  try {
    const rows = database.prepare('select stream, id, type, data, meta from events order by position').all() as Record<string, string>[]
    return rows
      .map(({ stream, id, type, data, meta }) => ({ stream, id, type, data: JSON.parse(data!), meta: JSON.parse(meta!) }) as Told)
      .filter(fits)
  } finally {
    database.close()
  }
}
