import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

const isWritable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Address at which SQLite reads a database: its path, but if the directory is read-only and no process has the database
 * open, an address without locks, because SQLite could create no companion files.
 */
export const readOnlyAddress = (path: string): string => {
  if (!existsSync(path) || isWritable(dirname(path))) return path
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return existsSync(`${path}-shm`) || (log?.size ?? 0) > 0 ? path : `${pathToFileURL(path).href}?immutable=1`
}
