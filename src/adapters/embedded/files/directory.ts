import { lstatSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Code of the error for a path that cannot be used as a writable directory. */
export const UNUSABLE = 'UNUSABLE'
const unusable = (why: string, cause?: unknown): Error => Object.assign(new Error(why, { cause }), { code: UNUSABLE })

const WHERE = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']

/** Runs work that creates something at a path. Converts errors of the path itself to `UNUSABLE`. */
export const atPlace = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw WHERE.includes(code) ? unusable(message, error) : error
  }
}

/** `stat` or `lstat` of a path. Returns undefined if it does not exist or a parent is a file. */
const at = (path: string, look: typeof statSync) => {
  try {
    return look(path, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw error
  }
}
const isDirectory = (path: string): boolean => at(path, statSync)?.isDirectory() ?? false

const make = (path: string): void => {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!isDirectory(path)) throw error
  }
}

/**
 * Creates a directory and its missing parents, accessible only to the owner. Fails immediately if the path is unusable,
 * because `recursive` of Node loops for ever where the parent exists but the directory cannot be created (`/proc/x`).
 */
export const makeDirectory = (directory: string): void =>
  atPlace(() => {
    const missing: string[] = []
    for (let path = resolve(directory); !isDirectory(path); path = dirname(path)) {
      const found = at(path, lstatSync)
      if (found) throw unusable(`${path} is ${found.isSymbolicLink() ? 'a broken symbolic link' : 'not a directory'}`)
      missing.unshift(path)
    }
    for (const path of missing) make(path)
  })

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
