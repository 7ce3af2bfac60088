import { lstatSync, renameSync, rmSync } from 'node:fs'

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * Renames a file, or another object at its path, and its write-ahead log to `….damaged`, replacing an earlier one;
 * returns the new name. The main file goes first, because SQLite ignores companion files of a new database.
 */
export const setAside = (file: string): string => {
  const aside = `${file}.damaged`
  for (const beside of ['', '-wal']) {
    rmSync(`${aside}${beside}`, { force: true, recursive: true })
    if (isThere(`${file}${beside}`)) renameSync(`${file}${beside}`, `${aside}${beside}`)
  }
  for (const beside of ['-shm', '-journal']) rmSync(`${file}${beside}`, { force: true, recursive: true })
  return aside
}
