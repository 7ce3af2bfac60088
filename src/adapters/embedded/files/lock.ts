import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insistOnFiles } from '../../../regular-file.ts'
import { type Database, isBusy, openDatabase } from '../sqlite.ts'
import { atPlace } from './directory.ts'
import { privateFile } from './private-file.ts'

/**
 * Takes the data directory for this process alone; throws, naming the directory and the process that has it. The lock is the operating
 * system's, held on a file of its own, so it goes with the process however that ends; the pid beside it only serves the message.
 */
export const lockDirectory = async (directory: string): Promise<() => void> => {
  const pidFile = join(directory, 'lock.pid')
  insistOnFiles(join(directory, 'lock'), pidFile)
  atPlace(() => privateFile(join(directory, 'lock')))
  let database: Database | undefined
  try {
    database = await openDatabase(join(directory, 'lock'), 'lock')
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
