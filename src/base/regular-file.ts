import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'

/** Error code: the path exists and is not a file. */
export const NO_FILE = 'NO_FILE'
/** Opening a named pipe with these flags never waits for a writer. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK

const what = (found: Stats): string => {
  if (found.isDirectory()) return 'a directory'
  if (found.isFIFO()) return 'a named pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/** Kind of the object at a path that is not a file; undefined if it is a file, leads to one, or does not exist. */
export const noFileAt = (path: string): string | undefined => {
  const itself = lstatSync(path, { throwIfNoEntry: false })
  if (!itself) return undefined
  try {
    const found = statSync(path)
    return found.isFile() ? undefined : what(found)
  } catch {
    return 'a broken symbolic link'
  }
}

/** Throws if one of these paths exists and is not a file, because opening it could block for ever. */
export const insistOnFiles = (...paths: readonly string[]): void => {
  for (const path of paths) {
    const found = noFileAt(path)
    if (found !== undefined) throw Object.assign(new Error(`${path} is ${found}, not a file`), { code: NO_FILE, found })
  }
}

/**
 * Short reason, for use in brackets, why a file cannot be read: the kind of object at its path, or the error code of
 * the system.
 */
export const whyUnread = (error: unknown): string => {
  const { found, code = 'unknown error' } = error as NodeJS.ErrnoException & { readonly found?: string }
  return found ?? code
}

/** The same for a file that has not been opened; undefined if it is readable. */
export const unreadFor = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK)
    insistOnFiles(path)
    return undefined
  } catch (error) {
    return whyUnread(error)
  }
}

/** Content of a file. The function never blocks on a named pipe. */
export const bytesOf = async (path: string): Promise<Buffer> => {
  const file = await open(path, READ)
  try {
    if (!(await file.stat()).isFile()) insistOnFiles(path)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Synchronous variant of `bytesOf`. */
export const bytesNow = (path: string): Buffer => {
  const file = openSync(path, READ)
  try {
    if (!fstatSync(file).isFile()) insistOnFiles(path)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
