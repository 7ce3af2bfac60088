import { existsSync } from 'node:fs'
import { systemClock } from '../../base/clock.ts'
import { partsOf } from '../../base/concurrency.ts'
import { fail } from '../../base/failure.ts'
import type { Config } from '../../config/load.ts'
import { ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import type { LedgerPorts } from '../../ledger/ledger-store.ts'
import { newestRecord, replaceSealed, type SealedRecord } from '../../ledger/ledger-store.ts'
import { lazily, openLedgerOnServers } from '../stores/open-ledger.ts'
import { type Secrets, silent } from '../stores/store-listeners.ts'
import { eventsOf, type History, openStores } from '../stores/stores.ts'
import { insistOnSameLog } from '../stores/verify-log-and-views.ts'
import { type Move, type Moved, migrate, sizeOf } from './copy.ts'

/** Number of checkpoints that are read, and that are written at once. */
const [PAGE, AT_ONCE] = [256, 16]

/** Sealed record to move. One that suspends the source suspends the target too. */
const recordIn = async ({ store }: LedgerPorts, ledger: string): Promise<SealedRecord | undefined> => {
  const records = Object.values(await store.sealed())
  return records.find((record) => record.ledger !== ledger || record.copy) ?? newestRecord(records)
}

/** Finds the ledger of a source; undefined if its log names none. Fails if the signing key is missing. */
const ledgerToMove = async ({ history }: Pick<Config, 'history'>, { log, ledger }: Pick<History, 'log' | 'ledger'>) => {
  const of = await ledgerOfLog(log)
  if (!of) return undefined
  const ports = await ledger()
  const key =
    (await ports.keys.read()) ??
    fail(
      'notFound',
      `The source has a ledger, but there is no signing key ${history.ledger.key_file ?? 'in MongoDB'}.`,
      'Set --from-signing-key, or history.ledger.key_file of servers, to the key of the source. If the key is lost, run first: rollcall ledger restart',
    )
  return { origin: of.origin, ports, key, record: await recordIn(ports, of.ledger) }
}

type LedgerToMove = NonNullable<Awaited<ReturnType<typeof ledgerToMove>>>

/** Fails if the target has another signing key, or the sealed record of another ledger. Writes nothing. */
const insistOnNoOtherLedger = async ({ key, record }: LedgerToMove, { store, keys }: LedgerPorts) => {
  const there = await keys.read()
  if (there && !there.equals(key))
    fail(
      'conflict',
      'The target has another signing key than the source.',
      'Remove that key, or replace it by a copy of the key of the source.',
    )
  const other = Object.values(await store.sealed()).find(({ ledger }) => ledger !== record?.ledger)
  if (other) fail('conflict', `The target has the sealed record of the ledger ${other.origin}.`, 'Use an empty target.')
}

const copyCheckpoints = async (from: LedgerPorts['store'], to: LedgerPorts['store']): Promise<void> => {
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await from.checkpoints(below, PAGE)
    for (const part of partsOf(page, AT_ONCE)) await Promise.all(part.map(to.keep))
    const last = page.at(-1)
    if (!last) return
    below = last.size
  }
}

/**
 * Copies kept checkpoints, the sealed record and the signing key, so that the target continues the ledger. The key comes
 * last: a target without the sealed record signs nothing. A repeated call completes one that was interrupted.
 */
export const moveLedger = async ({ ports: { store, keys }, key, record }: LedgerToMove, to: LedgerPorts) => {
  const scrub = await store.scrubbed()
  if (scrub?.ok === false) await to.store.writeScrub(scrub)
  await copyCheckpoints(store, to.store)
  if (record && !(await replaceSealed(to.store, (await to.store.sealed()).stored, record)))
    fail('conflict', 'Another process wrote the sealed record of the target.', 'Stop every service on the target.')
  if (!(await to.keys.read()) || (await to.keys.next())?.equals(key)) {
    await to.keys.prepare(key)
    await to.keys.promote()
  }
  // A restart, or a change of the key, that a crash interrupted is continued in the target.
  const next = await keys.next()
  if (next) await to.keys.prepare(next)
  const there = await recordIn(to, record?.ledger ?? '')
  if ((record && there?.root !== record.root) || !(await to.keys.read())?.equals(key))
    fail('check', 'The target returns another sealed record or signing key than it received.')
}

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
