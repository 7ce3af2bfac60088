import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Say } from '../../base/progress.ts'
import { replaceSealed, type SealedRecord } from '../../ledger/ledger-store.ts'
import { notExtending } from '../../ledger/log-comparison.ts'
import { insistOnSeal } from '../../ledger/retained-checkpoint.ts'
import type { LedgerPorts } from '../../ledger/signing-keys.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { restartOn } from '../ledger/operations.ts'
import { openLedgerInDirectory } from '../stores/open-ledger.ts'
import { silent } from '../stores/store-listeners.ts'
import type { CheckedCopies } from './check-copies.ts'
import { configOfCopy } from './directory.ts'

/** Text and name of the newest checkpoint that anybody retains. */
type Retained = { readonly text: string; readonly name: string }
/** Decision of the operator: a checkpoint, the reason for a new ledger, or undefined, which leaves it suspended. */
export type LedgerDecision = Retained | { readonly reason: string } | undefined

/** Ledger of a restored directory. */
export type RestoredLedger =
  | { readonly state: 'none' }
  | { readonly state: 'suspended'; readonly origin: string }
  | { readonly state: 'continued'; readonly origin: string; readonly sealed: number }
  | { readonly state: 'restarted'; readonly origin: string; readonly vkey: string }

const OTHERWISE = 'Restore a newer backup, or use --accept-rollback --reason TEXT.'

const withPorts = async <T>(directory: string, work: (ports: LedgerPorts) => Promise<T>): Promise<T> => {
  const ports = await openLedgerInDirectory(configOfCopy(directory), silent)
  try {
    return await work(ports)
  } finally {
    await ports.store.close()
  }
}

/** Returns the sealed record that continues a ledger from a retained checkpoint. Fails unless the log extends it. */
const continuedRecord = (
  { content: { events }, of, record, roots }: CheckedCopies,
  { text, name }: Retained,
  now: Date,
): SealedRecord => {
  const retained = parseCheckpoint(text)
  if (retained && retained.size > events)
    fail(
      'check',
      `The backup has ${events} events, but ${name} covers ${retained.size}: ${retained.size - events} are lost.`,
      OTHERWISE,
    )
  if (!of) return fail('check', `The log of the backup names no ledger, so it cannot extend ${name}.`)
  const { size, root } = insistOnSeal(text, of, name)
  const why = notExtending(events, roots.get(size), { size, root })
  if (why !== undefined) fail('check', `The backup does not extend ${name}: ${why}.`, OTHERWISE)
  if (record && record.size > size) {
    const { copy: _, ...rest } = record
    return rest
  }
  const { ledger, origin } = of
  const witnessed = record?.witnessed
  return { ledger, origin, size, root, text, sealedAt: now.toISOString(), keep: true, ...(witnessed && { witnessed }) }
}

/** Stores the sealed record. A difference that a scrub found before the backup is over, because the log was compared. */
const continueLedger = async ({ store }: LedgerPorts, record: SealedRecord, events: number): Promise<void> => {
  const { size, root, text = '', sealedAt, keep = false } = record
  if ((await store.scrubbed())?.ok === false) {
    await store.dropTiles()
    await store.writeScrub({ at: sealedAt, through: events, ok: true })
  }
  if (text !== '') await store.keep({ size, root, text, sealedAt, keep })
  if (!(await replaceSealed(store, (await store.sealed()).stored, record)))
    fail('check', 'The sealed record of the restored ledger cannot be replaced.')
}

/**
 * Carries out the decision of the operator on the ledger in a directory: continued from a retained checkpoint, or a new
 * one. Without a decision the sealed record stays marked as a copy, so a service signs nothing.
 */
export const decideOnLedger = async (
  directory: string,
  checked: CheckedCopies,
  decision: LedgerDecision,
  clock: Clock,
  say: Say,
): Promise<RestoredLedger> => {
  const { of, content } = checked
  if (decision && 'text' in decision) {
    const record = continuedRecord(checked, decision, clock.now())
    await withPorts(directory, (ports) => continueLedger(ports, record, content.events))
    return { state: 'continued', origin: record.origin, sealed: record.size }
  }
  if (!of) return { state: 'none' }
  if (!decision) return { state: 'suspended', origin: of.origin }
  const { withWritableLog } = await import('../../adapters/embedded/backup/copies.ts')
  const { reason } = decision
  const { origin, vkey } = await withPorts(directory, (ports) =>
    withWritableLog(join(directory, 'events.sqlite'), (log) =>
      restartOn(log, ports, clock, { reason, last: undefined }, say),
    ),
  )
  return { state: 'restarted', origin, vkey }
}
