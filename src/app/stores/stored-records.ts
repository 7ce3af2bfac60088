import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type LedgerOfLog, ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import type { KeptCheckpoint, SealedRecord } from '../../ledger/ledger-store.ts'
import { COMPARED, isSigned, newestText, safeVkeys, sealIn } from '../../ledger/signed-records.ts'
import { eventsOf, existing } from './stores.ts'

/** Ledger of a store, its keys without compromised ones. `others`: further texts that must be checkpoints of its log. */
type StoredLedger = {
  readonly origin: string
  readonly vkeys: readonly string[]
  readonly checkpoint: string
  readonly others?: readonly { readonly name: string; readonly text: string }[]
}

/** The records of a store, read only. */
export type StoredRecords = {
  /** All records in the order of the log, in pages of at most 1,000. */
  readonly pages: () => AsyncIterable<readonly Stored[]>
  /** Undefined if the store has no ledger. */
  readonly ledger: () => Promise<StoredLedger | undefined>
}

/** The copies of a sealed record, and the newest kept checkpoints. */
type Seals = { readonly records: readonly SealedRecord[]; readonly kept: readonly KeptCheckpoint[] }

/**
 * Texts that must be checkpoints of the log, with their names: those of records and kept checkpoints. A text that only a
 * compromised key has signed proves nothing.
 */
const textsOf = ({ records, kept }: Seals, of: LedgerOfLog) => {
  const sure = { keys: of.keys.filter(({ compromised }) => !compromised) }
  const named = [
    ...records.map(({ text, size }) => ({ name: `sealed record of size ${size}`, text })),
    ...kept.map(({ text, size }) => ({ name: `kept checkpoint of size ${size}`, text })),
  ]
  return named.flatMap(({ name, text }) => {
    const isOfCompromised = text !== undefined && typeof sealIn(text, of) !== typeof sealIn(text, sure)
    return text === undefined || isOfCompromised ? [] : [{ name, text }]
  })
}

/** Records of a log with the ledger that it names. `seals` reads what the store of the ledger has sealed. */
const recordsOf = (log: Pick<EventLog, 'readAll' | 'read'>, seals: () => Promise<Seals>): StoredRecords => ({
  pages: () => log.readAll(0n),
  ledger: async () => {
    const [of, found] = [await ledgerOfLog(log), await seals()]
    if (!of) return undefined
    const signed = found.kept.filter((each) => isSigned(each, of))
    const texts = textsOf(found, of)
    const checkpoint = newestText(found.records, signed, of) ?? texts[0]?.text
    if (checkpoint === undefined) return undefined
    return {
      origin: of.origin,
      vkeys: safeVkeys(of),
      checkpoint,
      others: texts.filter(({ text }) => text !== checkpoint),
    }
  },
})

/** Runs work on the records of the configured store: read-only on files that a service may be using. */
export const withRecords = async <T>(
  config: Config,
  clock: Clock,
  work: (records: StoredRecords) => Promise<T>,
): Promise<T> => {
  if (config.storage.type === 'cluster') {
    const { openServers } = await import('./open-servers.ts')
    const { log, mongo, close } = await openServers(config, clock, {})
    const seals = async () => ({
      records: Object.values(await mongo.ledger.sealed()),
      kept: await mongo.ledger.checkpoints(Number.MAX_SAFE_INTEGER, COMPARED),
    })
    try {
      return await work(recordsOf(log, seals))
    } finally {
      await close()
    }
  }
  const file = existing(eventsOf(config))
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  const { recordsIn } = await import('../../adapters/embedded/ledger/ledger-file.ts')
  const { recordNextToKey } = await import('../../adapters/embedded/ledger/signing-key-file.ts')
  const seals = async () => {
    const { record, kept } = await recordsIn(join(config.storage.data_dir, 'ledger.sqlite'), COMPARED)
    const next = await recordNextToKey(`${config.history.ledger.key_file!}.sealed`)
    return { records: [record, next].filter((each) => each !== undefined), kept }
  }
  const read = () =>
    seals().catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error
      return fail('check', `${error.message}.`, 'Restore that file, or move it away: another copy replaces it.')
    })
  return withEmbeddedLog(file, (log) => work(recordsOf(log, read)))
}
