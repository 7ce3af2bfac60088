import { lstatSync, renameSync, rmSync } from 'node:fs'

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * Puts a file, or what stands in its place, out of the way, with what SQLite wrote beside it, in place of one that was put there before; gives
 * its new name. The file goes first: SQLite believes nothing that it finds beside one that is new.
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
