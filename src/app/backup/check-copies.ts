import { join } from 'node:path'
import { fail } from '../../base/failure.ts'
import { type OnProgress, watched } from '../../base/progress.ts'
import type { EventLog } from '../../events/log.ts'
import { type LedgerOfLog, ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import { notExtending, treeOfPages } from '../../ledger/log-comparison.ts'
import { COMPARED, isSigned, newestText } from '../../ledger/signed-records.ts'
import type { CopiedName } from './backup-file.ts'

const unsound = (directory: string, why: string): never =>
  fail('check', `The copy in ${directory} is not sound: ${why}.`)

/** The sealed record and the newest kept checkpoints of a copy. */
const sealsIn = async (directory: string, names: readonly CopiedName[]) => {
  if (!names.includes('ledger.sqlite')) return { record: undefined, kept: [] }
  const { recordsIn } = await import('../../adapters/embedded/ledger/ledger-file.ts')
  try {
    return await recordsIn(join(directory, 'ledger.sqlite'), COMPARED)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return unsound(directory, error.message)
  }
}

/** Cause for which the seals are not those of the ledger that the log names; undefined if they are. */
const faultOf = (of: LedgerOfLog | undefined, { record, kept }: Awaited<ReturnType<typeof sealsIn>>) => {
  if (record && of && record.ledger !== of.ledger)
    return `the log names the ledger ${of.ledger}, but the sealed record is of the ledger ${record.ledger}`
  if (!of) return kept.length > 0 ? 'it has a checkpoint, but the log names no ledger' : undefined
  const forged = kept.find((each) => !isSigned(each, of))
  if (forged) return `the kept checkpoint of size ${forged.size} has no valid signature`
  const { text, size, root } = record ?? {}
  return text !== undefined && !isSigned({ text, size: size!, root: root! }, of)
    ? 'the sealed record has no valid signature'
    : undefined
}

/** Compares the tree over the log of a copy with its checkpoint and its sealed record. */
const checkedLog = async (
  directory: string,
  log: Pick<EventLog, 'read' | 'readAll' | 'head'>,
  seals: Awaited<ReturnType<typeof sealsIn>>,
  sizes: readonly number[],
  progress: OnProgress,
) => {
  const of = await ledgerOfLog(log)
  const { record, kept } = seals
  const fault = faultOf(of, seals)
  if (fault !== undefined) unsound(directory, fault)
  const checkpoint = of && newestText(record ? [record] : [], kept, of)
  const total = Number(await log.head())
  let position = 0n
  const pages = watched(log.readAll(0n), (page, done) => {
    position = page.at(-1)?.position ?? position
    progress({ name: 'checking', done, total })
  })
  const known = [...(record ? [record] : []), ...kept]
  const { size, roots } = await treeOfPages(pages, [...sizes, ...known.map((each) => each.size)])
  for (const each of known) {
    const why = notExtending(size, roots.get(each.size), each)
    if (why !== undefined) unsound(directory, why)
  }
  const content = { events: size, position: String(position), checkpoint: checkpoint ?? null }
  return { content, of, record, roots }
}

/** Content of checked copies, with the ledger that the log names and the roots of its tree at the sizes in demand. */
export type CheckedCopies = Awaited<ReturnType<typeof checkedLog>>

/** True for the name of a database. */
export const isDatabase = (name: CopiedName): boolean => name.endsWith('.sqlite')

/** Fails with exit code 3 if SQLite finds a copied database damaged, or if it has objects that are not of this version. */
export const insistOnSound = async (directory: string, name: CopiedName): Promise<void> => {
  const { problemsOfCopy } = await import('../../adapters/embedded/backup/copies.ts')
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
  progress: OnProgress,
  sizes: readonly number[] = [],
): Promise<CheckedCopies> => {
  const { withEmbeddedLog } = await import('../../adapters/embedded/files/check.ts')
  for (const name of names.filter(isDatabase)) await insistOnSound(directory, name)
  const seals = await sealsIn(directory, names)
  return withEmbeddedLog(join(directory, 'events.sqlite'), (log) => checkedLog(directory, log, seals, sizes, progress))
}
