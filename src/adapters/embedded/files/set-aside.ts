import { lstatSync, renameSync, rmSync } from 'node:fs'

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * Renames a file, or another object at its path, and its write-ahead log to `….damaged`, replacing an earlier file of
 * this name; returns the new name. The main file is renamed first, because SQLite ignores companion files of a new
 * database.
 */
export const setAside = (file: string): string => {
  const aside = `${file}.damaged`
  for (const suffix of ['', '-wal']) {
    rmSync(`${aside}${suffix}`, { force: true, recursive: true })
    if (isThere(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${aside}${suffix}`)
  }
  for (const suffix of ['-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true, recursive: true })
  return aside
}
