import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insistOnFiles } from '../../../base/regular-file.ts'
import { type Database, isBusy, openDatabase } from '../sqlite.ts'
import { atPlace } from './directory.ts'
import { privateFile } from './secret-file.ts'

/** Name of the lock file of a data directory. */
export const LOCK = 'lock'

/**
 * Locks the data directory for this process. Throws with the name of the directory and the process that holds the lock.
 * The lock is held by the operating system on a separate file, so it ends with the process; the pid file only serves
 * the error message.
 */
export const lockDirectory = async (directory: string): Promise<() => void> => {
  const pidFile = join(directory, 'lock.pid')
  insistOnFiles(join(directory, LOCK), pidFile)
  atPlace(() => privateFile(join(directory, LOCK)))
  let database: Database | undefined
  try {
    database = await openDatabase(join(directory, LOCK), 'lock')
    database.exec('begin exclusive')
  } catch (error) {
    database?.close()
    if (!isBusy(error)) throw error
    const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim()
    throw new Error(`data directory ${directory} is in use by ${pid === '' ? 'another process' : `process ${pid}`}`, {
      cause: error,
    })
  }
  privateFile(pidFile)
  await writeFile(pidFile, `${process.pid}\n`)
  return () => database.close()
}
