import { existsSync } from 'node:fs'
import type { Services } from '../../cli/services.ts'
import { systemClock } from '../../clock.ts'
import { fail } from '../../failure.ts'
import { eventsOf, openStores, type Stores } from '../stores/stores.ts'
import { insistOnSameLog } from '../stores/verify-log-and-views.ts'
import { type HistoryStore, migrate } from './copy.ts'
import { insistOnNoOtherLedger, ledgerToMove, moveLedger } from './move-ledger.ts'

const nothing = async function* () {}

/** Empty stores, in place of a target that does not exist. */
const empty = (
  pepper: HistoryStore['pepper'],
): Pick<Stores, 'log' | 'keys' | 'pepper' | 'binding' | 'alone' | 'close'> & { readonly ledger: undefined } => {
  const none = async () => fail('failed', 'This is a dry run, so nothing was written.')
  const close = async () => {}
  return {
    log: {
      append: none,
      read: nothing,
      readAll: nothing,
      follow: nothing,
      at: async () => undefined,
      first: async () => undefined,
      head: async () => 0n,
      close,
    },
    keys: {
      make: none,
      find: async () => undefined,
      destroy: none,
      states: async () => new Map(),
      between: async () => [],
      forget: none,
      close,
    },
    pepper,
    binding: { read: async () => undefined, write: none },
    ledger: undefined,
    alone: true,
    close,
  }
}

/**
 * Moves an embedded store with its ledger to the target of another configuration. A target without keys gets those of
 * the source.
 */
export const moveStores: Services['moveStores'] = async (from, to, move) => {
  for (const path of [eventsOf(from), from.keys.file!])
    if (!existsSync(path))
      fail(
        'notFound',
        `There is no ${path}.`,
        'Set --from to the data directory, and --from-keys to its key file if that is outside the directory.',
      )
  const { openKeyFile } = await import('../../adapters/embedded/files/key-file.ts')
  const secrets = await openKeyFile(from.keys.file!)
  const source = await openStores(from, systemClock, {})
  try {
    await insistOnSameLog(source)
    const isThere = to.storage.type !== 'embedded' || existsSync(eventsOf(to))
    const target = move.dryRun && !isThere ? empty(source.pepper) : await openStores(to, systemClock, {}, { secrets })
    try {
      await insistOnSameLog(target)
      const ledger = await ledgerToMove(from, source)
      const ports = ledger && (await target.ledger?.())
      if (ports) await insistOnNoOtherLedger(ledger, ports)
      const moved = await migrate(source, target, move)
      if (!ports || move.dryRun) return moved
      await moveLedger(ledger, ports)
      const { origin, record } = ledger
      const keyFiles = { source: from.history.ledger.key_file!, target: to.history.ledger.key_file }
      return { ...moved, ledger: { origin, sealed: record?.size, keyFiles } }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}
