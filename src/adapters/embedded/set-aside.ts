import { existsSync, renameSync, rmSync } from 'node:fs'

/** Puts a database that is damaged out of the way, with what SQLite wrote beside it, in place of one that was put there before; gives its new name. */
export const setAside = (file: string): string => {
  const aside = `${file}.damaged`
  rmSync(`${file}-shm`, { force: true })
  for (const beside of ['-wal', '']) {
    if (existsSync(`${file}${beside}`)) renameSync(`${file}${beside}`, `${aside}${beside}`)
    else rmSync(`${aside}${beside}`, { force: true })
  }
  return aside
}
