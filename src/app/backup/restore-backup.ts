import { constants, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { OnProgress, Say } from '../../base/progress.ts'
import { bytesOf, whyUnread } from '../../base/regular-file.ts'
import { giveTo, syncDirectory } from '../../base/replace-file.ts'
import type { LedgerPorts } from '../../ledger/ledger-store.ts'
import { replaceSealed, type SealedRecord } from '../../ledger/ledger-store.ts'
import { notExtending } from '../../ledger/log-comparison.ts'
import { insistOnSeal } from '../../ledger/signed-records.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { restartOn } from '../ledger/operations.ts'
import { openLedgerInDirectory } from '../stores/open-ledger.ts'
import { silent } from '../stores/store-listeners.ts'
import { BACKUP_FILE, type BackupStatement, COPIED, parseStatement } from './backup-file.ts'
import { type CheckedCopies, checkCopies, insistOnSound, isDatabase } from './check-copies.ts'
import { closeDirectory, configOfCopy, createDirectory, inCopy, namesIn } from './directory.ts'

/** Text and name of the newest checkpoint that anybody retains. */
type Retained = { readonly text: string; readonly name: string }
/** Decision of the operator: a checkpoint, the reason for a new ledger, or undefined, which leaves it suspended. */
type LedgerDecision = Retained | { readonly reason: string } | undefined

type RestoredLedger =
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
const decideOnLedger = async (
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

/** Directory in the target that receives the files before they are checked. */
const STAGING = 'restoring'
/** Maximum size in bytes of a manifest. A manifest of all files and a checkpoint with many signatures is smaller. */
const MOST_BYTES = 1_048_576
/** Directory in the staging directory for the copied databases. */
const COPIES = 'copies'

/** The records, the keys and the ledger of a restored directory. */
export type Restored = Pick<BackupStatement, 'events' | 'position' | 'keys'> & { readonly ledger: RestoredLedger }
type Restore = { readonly directory: string; readonly into: string; readonly progress: OnProgress }

/**
 * Files in the order in which they leave the staging directory. No service starts on the log without the keys, so they
 * are last.
 */
const MOVED = [
  'events.sqlite',
  'ledger.sqlite',
  'signing-key.pem.sealed',
  'signing-key.pem',
  'signing-key.pem.next',
  'subjects.sqlite',
  'keys',
] as const

const readStatement = async (directory: string): Promise<BackupStatement> => {
  const path = join(directory, BACKUP_FILE)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > MOST_BYTES)
    fail('check', `${path} has ${size} bytes, but at most ${MOST_BYTES} are possible: it is not the file of a backup.`)
  const bytes = await bytesOf(path).catch((error: unknown) => {
    const why = whyUnread(error)
    const isPart = why === 'ENOENT' && namesIn(directory).some((name) => (COPIED as readonly string[]).includes(name))
    if (isPart) fail('check', `The backup in ${directory} was interrupted: it has no ${BACKUP_FILE}.`)
    return fail(why === 'ENOENT' ? 'notFound' : 'failed', `${path} cannot be read (${why}).`)
  })
  const statement = parseStatement(bytes.toString())
  return 'wrong' in statement ? fail('check', `${path} was changed: its ${statement.wrong} is wrong.`) : statement
}

/** Fails unless the target is empty, but for the staging directory of a restore that did not move any file. */
const insistOnEmpty = (into: string): void => {
  const names = namesIn(into)
  if (names.every((name) => name === STAGING)) return
  if (names.includes(STAGING))
    fail('usage', `${into} has an interrupted restore.`, 'Delete its content, then restore again.')
  fail('usage', `${into} is not empty.`, 'Name a directory that does not exist, or an empty one.')
}

/** Gives a directory that root has made the owner of another one, so that the files in it also get this owner. */
const giveDirectory = async (directory: string, like: string): Promise<void> => {
  const handle = await open(directory, constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    giveTo(handle.fd, statSync(like))
  } finally {
    await handle.close()
  }
}

/**
 * Copies the files of a backup, and compares each copy with the statement. The rows of a copied database are written
 * into a new one, so that nothing else of the copy remains.
 */
const copyFiles = async (
  directory: string,
  staging: string,
  { files, events }: BackupStatement,
  progress: OnProgress,
): Promise<void> => {
  const { copyFile, rewriteDatabase } = await import('../../adapters/embedded/backup/copy-database.ts')
  const names = namesIn(directory)
  for (const { name, bytes, sha256 } of files) {
    const from = join(directory, name)
    if (!names.includes(name)) fail('check', `${from} is missing.`)
    const copies = isDatabase(name) ? join(staging, COPIES) : staging
    const copied = await copyFile(from, join(copies, name), { most: bytes, like: staging })
    if (copied.bytes !== bytes || copied.sha256 !== sha256)
      fail(
        'check',
        `${from} is not the file of this backup: its ${copied.bytes === bytes ? 'content' : 'size'} differs.`,
      )
    if (!isDatabase(name)) continue
    await insistOnSound(copies, name)
    await rewriteDatabase(join(copies, name), join(staging, name), (done) => {
      if (name === 'events.sqlite') progress({ name: 'copying', done: Math.min(done, events), total: events })
    })
    await rm(join(copies, name))
  }
  await rm(join(staging, COPIES), { recursive: true })
}

/** Fails if a database is incomplete without its write-ahead log, because the disk was full when it was closed. */
const insistOnClosed = (staging: string): void => {
  const isLog = (name: string) => name.endsWith('-wal') || name.endsWith('-journal')
  const log = namesIn(staging).find((name) => isLog(name) && statSync(join(staging, name)).size > 0)
  if (log !== undefined)
    fail('failed', `${join(staging, log)} could not be written into its database.`, 'Free some space.')
}

/** Moves the files into the target, one durably after the other. */
const moveFiles = async (staging: string, into: string): Promise<void> => {
  const names = namesIn(staging)
  await syncDirectory(staging)
  for (const name of MOVED.filter((each) => names.includes(each))) {
    await rename(join(staging, name), join(into, name))
    await syncDirectory(into)
  }
  await rm(staging, { recursive: true })
  await syncDirectory(into)
}

/**
 * Checks a backup and restores it into an empty directory. The files are copied and checked in a directory in the
 * target, then moved. A failure leaves the target empty.
 */
export const restoreBackup = async (
  clock: Clock,
  { directory, into, progress }: Restore,
  decision: LedgerDecision,
  say: Say,
): Promise<Restored> => {
  const statement = await readStatement(directory)
  insistOnEmpty(into)
  const staging = join(into, STAGING)
  return inCopy(into, 'Delete its content, then restore again.', async () => {
    await createDirectory(into)
    closeDirectory(into)
    await rm(staging, { recursive: true, force: true })
    await createDirectory(staging)
    await giveDirectory(staging, into)
    let isMoving = false
    try {
      await createDirectory(join(staging, COPIES))
      await copyFiles(directory, staging, statement, progress)
      const retained = decision && 'text' in decision ? parseCheckpoint(decision.text) : undefined
      const names = statement.files.map(({ name }) => name)
      const checked = await checkCopies(staging, names, progress, retained ? [retained.size] : [])
      for (const member of ['events', 'position', 'checkpoint'] as const)
        if (checked.content[member] !== statement[member])
          fail('check', `${join(directory, BACKUP_FILE)} was changed: its ${member} differs from the files.`)
      const ledger = await decideOnLedger(staging, checked, decision, clock, say)
      insistOnClosed(staging)
      isMoving = true
      await moveFiles(staging, into)
      const { events, position, keys } = statement
      return { events, position, keys, ledger }
    } finally {
      if (!isMoving) await rm(staging, { recursive: true, force: true })
    }
  })
}
