import { existsSync } from 'node:fs'
import { systemClock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import { lazily, openLedgerOnServers } from '../stores/open-ledger.ts'
import { type Secrets, silent } from '../stores/store-listeners.ts'
import { eventsOf, type History, openStores } from '../stores/stores.ts'
import { insistOnSameLog } from '../stores/verify-log-and-views.ts'
import { type Move, type Moved, migrate, sizeOf } from './copy.ts'
import { insistOnNoOtherLedger, ledgerToMove, moveLedger } from './move-ledger.ts'

type Source = Pick<History, 'log' | 'keys' | 'pepper' | 'binding' | 'ledger' | 'alone' | 'close'> & {
  readonly secrets: Secrets
}

const openDirectory = async (from: Config): Promise<Source> => {
  for (const path of [eventsOf(from), from.keys.file!])
    if (!existsSync(path))
      fail(
        'notFound',
        `There is no ${path}.`,
        'Set --from to the data directory, and --from-keys to its key file if that is outside the directory.',
      )
  const { openKeyFile } = await import('../../adapters/embedded/files/secret-file.ts')
  const secrets = await openKeyFile(from.keys.file!)
  return { ...(await openStores(from, systemClock, {})), secrets }
}

const openSource = async (from: Config): Promise<Source> => {
  if (from.storage.type === 'embedded') return openDirectory(from)
  const { openServers } = await import('../stores/open-servers.ts')
  const { log, keys, pepper, kek, binding, mongo, close } = await openServers(
    from,
    systemClock,
    {},
    { mustExist: true },
  )
  const { ledger } = lazily(() => openLedgerOnServers(from, mongo, silent))
  return { log, keys, pepper, binding, ledger, alone: false, close, secrets: { pepper, kek } }
}

/**
 * Moves a store with its ledger to the target of another configuration: from a directory, or from servers to a
 * directory. A target without keys gets those of the source. A repeated call continues where the previous one stopped.
 */
export const moveStores = async (from: Config, to: Config, move: Move): Promise<Moved> => {
  const source = await openSource(from)
  try {
    await insistOnSameLog(source)
    const ledger = await ledgerToMove(from, source)
    const isThere = to.storage.type !== 'embedded' || existsSync(eventsOf(to))
    if (move.dryRun && !isThere) {
      const events = await sizeOf(source)
      return { events, copied: events }
    }
    const target = await openStores(to, systemClock, {}, { secrets: source.secrets, keepsTimes: true })
    try {
      await insistOnSameLog(target)
      const ports = ledger && (await target.ledger())
      if (ports) await insistOnNoOtherLedger(ledger, ports)
      const moved = await migrate(source, target, move)
      if (!ports || move.dryRun) return moved
      await moveLedger(ledger, ports)
      const { origin, record } = ledger
      const keyFiles = { source: from.history.ledger.key_file, target: to.history.ledger.key_file }
      return { ...moved, ledger: { origin, sealed: record?.size, keyFiles } }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}
