import { existsSync } from 'node:fs'
import type { Services, StoredRecords } from '../../cli/services.ts'
import type { EventLog } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { eventsOf, openHistory } from './stores.ts'

const recordsOf = (log: Pick<EventLog, 'readAll'>): StoredRecords => ({
  pages: () => log.readAll(0n),
  ledger: async () => undefined,
})

/** Runs work on the records of the configured store: read-only on a file of events that a service may be using. */
export const withRecords: Services['withRecords'] = async (config, clock, work) => {
  if (config.storage.type === 'cluster') {
    const { log, close } = await openHistory(config, clock)
    try {
      return await work(recordsOf(log))
    } finally {
      await close()
    }
  }
  const file = eventsOf(config)
  if (!existsSync(file))
    fail('notFound', `There is no ${file}.`, 'Set --data to the data directory of a service that has already run.')
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  return withEmbeddedLog(file, (log) => work(recordsOf(log)))
}
