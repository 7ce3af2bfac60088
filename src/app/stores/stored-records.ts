import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Services, StoredRecords } from '../../cli/services.ts'
import type { EventLog } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import { type LedgerStore, newestKept } from '../../ledger/ledger-store.ts'
import { eventsOf } from './stores.ts'

/** Records of a log with the ledger that it names. `newest` returns the text of the newest checkpoint. */
const recordsOf = (
  log: Pick<EventLog, 'readAll' | 'read'>,
  newest: () => Promise<string | undefined>,
): StoredRecords => ({
  pages: () => log.readAll(0n),
  ledger: async () => {
    const [of, checkpoint] = [await ledgerOfLog(log), await newest()]
    if (!of || !checkpoint) return undefined
    const vkeys = of.keys.filter(({ compromised }) => !compromised).map(({ vkey }) => vkey)
    return { origin: of.origin, vkeys, checkpoint }
  },
})

const newestOn = async (store: Pick<LedgerStore, 'sealed' | 'checkpoints'>): Promise<string | undefined> => {
  const { stored } = await store.sealed()
  if (stored?.text) return stored.text
  return (await newestKept(store))?.text
}

/** Runs work on the records of the configured store: read-only on files that a service may be using. */
export const withRecords: Services['withRecords'] = async (config, clock, work) => {
  if (config.storage.type === 'cluster') {
    const { openServers } = await import('./open-servers.ts')
    const { log, mongo, close } = await openServers(config, clock, {})
    try {
      return await work(recordsOf(log, () => newestOn(mongo.ledger)))
    } finally {
      await close()
    }
  }
  const file = eventsOf(config)
  if (!existsSync(file))
    fail('notFound', `There is no ${file}.`, 'Set --data to a data directory in which a service has already run.')
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  const { newestCheckpointIn } = await import('../../adapters/embedded/ledger/read-checkpoint.ts')
  const ledger = join(config.storage.data_dir, 'ledger.sqlite')
  return withEmbeddedLog(file, (log) => work(recordsOf(log, () => newestCheckpointIn(ledger))))
}
