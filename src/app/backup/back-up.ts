import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { OnProgress } from '../../base/progress.ts'
import { replaceFile } from '../../base/replace-file.ts'
import type { Config } from '../../config/load.ts'
import type { LedgerOfLog } from '../../ledger/ledger-of-log.ts'
import { vkeyFor } from '../ledger/first-start.ts'
import { locateInDirectory } from '../stores/locate-keys.ts'
import { silent } from '../stores/store-listeners.ts'
import { eventsOf, existing } from '../stores/stores.ts'
import { verifyKeys } from '../stores/verify-log-and-keys.ts'
import { BACKUP_FILE, COPIED, type CopiedName, statementText } from './backup-file.ts'
import { checkCopies, isDatabase } from './check-copies.ts'
import { configOfCopy, createDirectory, inCopy, namesIn } from './directory.ts'

/** Files that a copy with keys must have. */
const NEEDED: readonly CopiedName[] = ['events.sqlite', 'subjects.sqlite', 'keys']

/** Paths of the files to copy. The ledger is optional, and so is the signing key. */
const sourcesOf = (config: Config, withKeys: boolean): readonly (readonly [name: CopiedName, path: string])[] => {
  const { data_dir } = config.storage
  const signingKey = config.history.ledger.key_file!
  const paths: Readonly<Record<CopiedName, string>> = {
    'ledger.sqlite': join(data_dir, 'ledger.sqlite'),
    'events.sqlite': eventsOf(config),
    'subjects.sqlite': join(data_dir, 'subjects.sqlite'),
    keys: config.keys.file!,
    'signing-key.pem': signingKey,
    'signing-key.pem.next': `${signingKey}.next`,
  }
  const names = withKeys ? COPIED : (['ledger.sqlite', 'events.sqlite'] as const)
  return names.flatMap((name) => {
    const path = paths[name]
    if (existsSync(path)) return [[name, path] as const]
    if (NEEDED.includes(name))
      fail('notFound', `There is no ${path}.`, 'Set --data and --config as for the service that uses the directory.')
    return []
  })
}

/** Fails with exit code 3 if a database to copy has objects that are not of this version. */
const insistOnSources = async (sources: ReturnType<typeof sourcesOf>): Promise<void> => {
  const { problemsIn, refuseDamaged } = await import('../../adapters/embedded/files/look.ts')
  for (const [name, path] of sources) {
    const [problem] = isDatabase(name) ? await problemsIn(path) : []
    if (problem !== undefined) refuseDamaged(`${path}: ${problem}`)
  }
}

/**
 * Copies the files in the order of `COPIED`. So the copied log covers each copied checkpoint, and the copied keys open
 * the whole copied log.
 */
const copyAll = async (sources: ReturnType<typeof sourcesOf>, directory: string): Promise<void> => {
  const { copyDatabase, copyLedger, copySubjects } = await import('../../adapters/embedded/backup/copy-database.ts')
  const { copyFile } = await import('../../adapters/embedded/backup/copy-database.ts')
  const copy: Readonly<Partial<Record<CopiedName, (from: string, to: string) => Promise<unknown>>>> = {
    'ledger.sqlite': copyLedger,
    'events.sqlite': copyDatabase,
    'subjects.sqlite': copySubjects,
  }
  for (const [name, path] of sources) await (copy[name] ?? copyFile)(path, join(directory, name))
}

/**
 * Fails unless the keys of a copy fit its log. Returns true if its signing key is the one that the log names, or the log
 * names none.
 */
const checkKeys = async (directory: string, of: LedgerOfLog | undefined, clock: Clock): Promise<boolean> => {
  const { withStanding } = await import('../../adapters/embedded/keys.ts')
  const { signingKeyFile } = await import('../../adapters/embedded/ledger/signing-key-file.ts')
  const config = configOfCopy(directory)
  const paths = { events: eventsOf(config), subjects: join(directory, 'subjects.sqlite') }
  await withStanding(paths, async (standing) =>
    verifyKeys(await locateInDirectory(config, standing), undefined, clock, silent),
  )
  const { read, next } = signingKeyFile(config.history.ledger.key_file!)
  const keys = [await read(), await next()]
  return !of || keys.some((key) => key && vkeyFor(of.origin, key) === of.keys.at(-1)!.vkey)
}

type BackUp = {
  readonly directory: string
  readonly withKeys: boolean
  readonly progress: OnProgress
}

const insistOnEmpty = (directory: string): void => {
  const names = namesIn(directory)
  if (names.length === 0) return
  const isPart = !names.includes(BACKUP_FILE) && names.some((name) => (COPIED as readonly string[]).includes(name))
  fail(
    'usage',
    isPart ? `${directory} has an interrupted backup.` : `${directory} is not empty.`,
    isPart ? 'Delete it, or name another directory.' : 'Name a directory that does not exist, or an empty one.',
  )
}

/**
 * Copies a data directory to an empty directory while a service may use it. Everything acknowledged before the call is
 * in the copy. The copy is checked and durable; backup.json is written last. `canSign`: its signing key is the one that
 * its log names; absent without keys.
 */
export const backUp = async (config: Config, clock: Clock, { directory, withKeys, progress }: BackUp) => {
  existing(eventsOf(config))
  insistOnEmpty(directory)
  return inCopy(directory, 'Delete it, then make the backup again.', async () => {
    const { digestOf } = await import('../../adapters/embedded/backup/copy-database.ts')
    await createDirectory(directory)
    const sources = sourcesOf(config, withKeys)
    const names = sources.map(([name]) => name)
    await insistOnSources(sources)
    await copyAll(sources, directory)
    const { content, of } = await checkCopies(directory, names, progress)
    const canSign = withKeys ? await checkKeys(directory, of, clock) : undefined
    const files = []
    for (const name of names) files.push({ name, ...(await digestOf(join(directory, name))) })
    const statement = statementText({ schema: 'rollcall.backup/v1', ...content, files, keys: withKeys })
    await replaceFile(join(directory, BACKUP_FILE), [statement])
    const { events, position, checkpoint } = content
    return { events, position, isSealed: checkpoint !== null, ...(canSign !== undefined && { canSign }) }
  })
}
