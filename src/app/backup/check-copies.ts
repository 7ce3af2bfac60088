import { join } from 'node:path'
import { keysOf } from '../../cli/ledger/checkpoint-file.ts'
import type { BackupServices } from '../../cli/offline/backup-services.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { fail } from '../../failure.ts'
import { base64Of } from '../../ledger/base64.ts'
import { type LedgerOfLog, ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import type { SealedRecord } from '../../ledger/ledger-store.ts'
import { notExtending, treeOfPages } from '../../ledger/log-comparison.ts'
import { parseCheckpoint, verifyCheckpoint } from '../../ledger/note/checkpoint.ts'
import { positioned } from '../stores/positioned.ts'
import type { BackupContent, CopiedName } from './backup-file.ts'

/** Content of checked copies, with the ledger that the log names and the roots of its tree at the sizes in demand. */
export type CheckedCopies = {
  readonly content: BackupContent
  readonly of: LedgerOfLog | undefined
  readonly record: SealedRecord | undefined
  readonly roots: Awaited<ReturnType<typeof treeOfPages>>['roots']
}

type Progress = Parameters<BackupServices['backUp']>[2]['progress']

const unsound = (directory: string, why: string): never =>
  fail('check', `The copy in ${directory} is not sound: ${why}.`)

/** The sealed record and the newest checkpoint of a copy. */
const sealsIn = async (directory: string, names: readonly CopiedName[]) => {
  if (!names.includes('ledger.sqlite')) return { record: undefined, checkpoint: undefined }
  const { newestCheckpointIn, sealedRecordIn } = await import('../../adapters/embedded/ledger/read-checkpoint.ts')
  const file = join(directory, 'ledger.sqlite')
  return { record: await sealedRecordIn(file), checkpoint: await newestCheckpointIn(file) }
}

/** Cause for which the checkpoint is not one of the ledger that the log names; undefined if it is. */
const faultOf = (of: LedgerOfLog | undefined, { record, checkpoint }: Awaited<ReturnType<typeof sealsIn>>) => {
  if (record && of && record.ledger !== of.ledger)
    return `the log names the ledger ${of.ledger}, but the sealed record is of the ledger ${record.ledger}`
  if (checkpoint === undefined) return undefined
  if (!of) return 'it has a checkpoint, but the log names no ledger'
  const found = verifyCheckpoint(checkpoint, keysOf(of.keys.map(({ vkey }) => vkey)))
  return typeof found === 'string' ? `the checkpoint is refused (${found})` : undefined
}

/** Reports the number of events after each page. */
async function* reported(
  pages: AsyncIterable<readonly Stored[]>,
  total: number,
  progress: Progress,
): AsyncGenerator<readonly Stored[]> {
  let done = 0
  for await (const page of pages) {
    yield page
    progress({ name: 'checking', done: (done += page.length), total })
  }
}

/** Compares the tree over the log of a copy with its checkpoint and its sealed record. */
const checkedLog = async (
  directory: string,
  log: Pick<EventLog, 'read' | 'readAll' | 'head'>,
  seals: Awaited<ReturnType<typeof sealsIn>>,
  sizes: readonly number[],
  progress: Progress,
): Promise<CheckedCopies> => {
  const of = await ledgerOfLog(log)
  const { record, checkpoint } = seals
  const fault = faultOf(of, seals)
  if (fault !== undefined) unsound(directory, fault)
  const sealed = checkpoint === undefined ? undefined : parseCheckpoint(checkpoint)
  const { pages, position } = positioned(reported(log.readAll(0n), Number(await log.head()), progress))
  const wanted = [...sizes, record?.size ?? 0, sealed?.size ?? 0]
  const { size, roots } = await treeOfPages(pages, wanted)
  const known = [...(record ? [record] : []), ...(sealed ? [{ size: sealed.size, root: base64Of(sealed.root) }] : [])]
  for (const each of known) {
    const why = notExtending(size, roots.get(each.size), each)
    if (why !== undefined) unsound(directory, why)
  }
  const content = { events: size, position: String(position()), checkpoint: checkpoint ?? null }
  return { content, of, record, roots }
}

/** True for the name of a database. */
export const isDatabase = (name: CopiedName): boolean => name.endsWith('.sqlite')

/** Fails with exit code 3 if SQLite finds a copied database damaged, or if it has objects that are not of this version. */
export const insistOnSound = async (directory: string, name: CopiedName): Promise<void> => {
  const { problemsOfCopy } = await import('../../adapters/embedded/backup/inspect-copy.ts')
  const [problem] = await problemsOfCopy(join(directory, name))
  if (problem !== undefined) unsound(directory, `${name} is damaged: ${problem}`)
}

/**
 * Checks the databases of a copy: SQLite's own check of each, and the tree over the log against the checkpoint and the
 * sealed record. `sizes`: sizes at which the caller needs the root. Fails with exit code 3 for any difference.
 */
export const checkCopies = async (
  directory: string,
  names: readonly CopiedName[],
  progress: Progress,
  sizes: readonly number[] = [],
): Promise<CheckedCopies> => {
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  for (const name of names.filter(isDatabase)) await insistOnSound(directory, name)
  const seals = await sealsIn(directory, names)
  return withEmbeddedLog(join(directory, 'events.sqlite'), (log) => checkedLog(directory, log, seals, sizes, progress))
}
