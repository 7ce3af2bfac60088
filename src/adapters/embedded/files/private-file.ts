import { chmodSync, closeSync, fchmodSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDirectory } from './directory.ts'

const OWN = 0o600

const madeNow = (path: string): boolean => {
  try {
    const file = openSync(path, 'wx', OWN)
    fchmodSync(file, OWN)
    closeSync(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Takes a file away from all but its owner; one that is not there, or is no ordinary file, is left as it is. */
export const closeToOthers = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(path, found.mode & 0o700)
}

/**
 * Sees to it that a file is there and its owner's alone, whatever the umask; so are the directories that it makes on the way.
 * A file that is there is never opened: to close it would end the locks that SQLite holds on it.
 */
export const privateFile = (path: string): void => {
  makeDirectory(dirname(path))
  if (!madeNow(path)) closeToOthers(path)
}
