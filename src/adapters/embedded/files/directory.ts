import { lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The code of an error that says that a place is no directory to write in. */
export const UNUSABLE = 'UNUSABLE'
const unusable = (why: string, cause?: unknown): Error => Object.assign(new Error(why, { cause }), { code: UNUSABLE })

const WHERE = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']

/** Does what makes something at a place, and says so where the place allows none. */
export const atPlace = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw WHERE.includes(code) ? unusable(message, error) : error
  }
}

/** What a look at a place finds; nothing below a file. */
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
 * Makes a directory with those on the way to it, each its owner's alone. Fails at once where the place allows none; the `recursive` of Node
 * tries for ever where a parent is there and the directory can never be (`/proc/x`).
 */
export const makeDirectory = (directory: string): void =>
  atPlace(() => {
    const missing: string[] = []
    for (let path = resolve(directory); !isDirectory(path); path = dirname(path)) {
      const found = at(path, lstatSync)
      if (found) throw unusable(`${path} is ${found.isSymbolicLink() ? 'a link to nothing' : 'not a directory'}`)
      missing.unshift(path)
    }
    for (const path of missing) make(path)
  })
