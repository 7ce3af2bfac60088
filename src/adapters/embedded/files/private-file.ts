import { chmodSync, closeSync, fchmodSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { giveTo } from '../../../base/replace-file.ts'
import { makeDirectory } from './directory.ts'

const OWN = 0o600

const madeNow = (path: string, staysOwn: boolean): boolean => {
  try {
    const file = openSync(path, 'wx', OWN)
    fchmodSync(file, OWN)
    if (!staysOwn) giveTo(file, statSync(dirname(path)))
    closeSync(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes the permissions of group and others from a file. Ignores missing paths and paths that are not regular files.
 */
export const closeToOthers = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(path, found.mode & 0o700)
}

/**
 * Ensures that a file exists and only its owner can access it, regardless of the umask; creates missing parent
 * directories, which only their owner can access either. Never opens an existing file, because closing it would release
 * the locks that SQLite holds on it. A new file that root makes gets the owner and group of its directory, unless it
 * `staysOwn`.
 */
export const privateFile = (path: string, staysOwn = false): void => {
  makeDirectory(dirname(path))
  if (!madeNow(path, staysOwn)) closeToOthers(path)
}
