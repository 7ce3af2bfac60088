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

/** The code of an error that says that something else stands in the place of a file. */
export const NO_FILE = 'NO_FILE'
/** To open a named pipe so never waits for who writes to it. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK

const what = (found: Stats): string => {
  if (found.isDirectory()) return 'a directory'
  if (found.isFIFO()) return 'a named pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/** What stands in the place of a file and is none, nor leads to one; undefined where that is a file, or nothing. */
export const noFileAt = (path: string): string | undefined => {
  const itself = lstatSync(path, { throwIfNoEntry: false })
  if (!itself) return undefined
  try {
    const found = statSync(path)
    return found.isFile() ? undefined : what(found)
  } catch {
    return 'a link that leads to no file'
  }
}

/** Throws where one of these places has something that is no file. To open it could take for ever. */
export const insistOnFiles = (...paths: readonly string[]): void => {
  for (const path of paths) {
    const found = noFileAt(path)
    if (found !== undefined) throw Object.assign(new Error(`${path} is ${found} and no file`), { code: NO_FILE, found })
  }
}

/** Why a file cannot be read, in brackets of a sentence: what stands in its place, or the code of the system. */
export const whyUnread = (error: unknown): string => {
  const { found, code = 'unknown error' } = error as NodeJS.ErrnoException & { readonly found?: string }
  return found ?? code
}

/** The same of a file that is not read yet; undefined where it can be. */
export const unreadFor = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK)
    insistOnFiles(path)
    return undefined
  } catch (error) {
    return whyUnread(error)
  }
}

/** The bytes of a file. Never waits for a writer, as a named pipe would. */
export const bytesOf = async (path: string): Promise<Buffer> => {
  const file = await open(path, READ)
  try {
    if (!(await file.stat()).isFile()) insistOnFiles(path)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** The same, before anything else is done. */
export const bytesNow = (path: string): Buffer => {
  const file = openSync(path, READ)
  try {
    if (!fstatSync(file).isFile()) insistOnFiles(path)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
