import { randomBytes } from 'node:crypto'
import { type Stats, statSync } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../../../base/errors.ts'
import { bytesOf, insistOnFiles } from '../../../base/regular-file.ts'
import { giveTo, syncDirectory } from '../../../base/replace-file.ts'
import { makeDirectory } from './directory.ts'

/**
 * Creates the file atomically and never replaces an existing one: two processes that create it at once read the same
 * file.
 */
const create = async (path: string, text: string): Promise<void> => {
  makeDirectory(dirname(path))
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    giveTo(file.fd, statSync(dirname(path)))
    await file.writeFile(text)
    await file.sync()
    await link(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await file.close()
    await rm(temporary)
  }
  await syncDirectory(dirname(path))
}

/**
 * Returns true if only the user of this process can read the file. A file without write permission (a mounted Secret)
 * may also be readable by a group of this process.
 */
const isPrivate = ({ mode, gid }: Stats): boolean =>
  (mode & 0o077) === 0 ||
  ((mode & 0o337) === 0 && [process.getegid?.(), ...(process.getgroups?.() ?? [])].includes(gid))

/** Code of the error for a file with secrets that other users can read. */
const READABLE = 'READABLE'
/** True if other users can read the file with secrets that an error names. */
export const isReadable = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === READABLE

/** Runs work on the file. Errors name the file and the failed operation. */
const aboutFile = async <T>(name: string, problem: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    const why = messageOf(cause)
    throw new Error(`${name} ${problem}: ${why}`, { cause })
  }
}

/**
 * Reads a file with secrets (api.md §12.3); undefined if it does not exist. Throws if other users can read the file.
 * Error messages begin with `kind`.
 */
export const readSecretFile = async (kind: string, path: string): Promise<string | undefined> => {
  const name = `${kind} ${path}`
  const found = await aboutFile(name, 'cannot be read', async () => {
    insistOnFiles(path)
    return stat(path).catch((error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? undefined : Promise.reject(error),
    )
  })
  if (!found) return undefined
  if (process.platform !== 'win32' && !isPrivate(found))
    throw Object.assign(
      new Error(
        `${name} is readable by other users (mode ${(found.mode & 0o777).toString(8)}): set its mode to 600; a mounted Secret needs mode 440 and the group of this process`,
      ),
      { code: READABLE },
    )
  return aboutFile(name, 'cannot be read', async () => String(await bytesOf(path)))
}

/** Creates a file with secrets durably, unless it exists. */
export const createSecretFile = (kind: string, path: string, text: string): Promise<void> =>
  aboutFile(`${kind} ${path}`, 'does not exist, and the service cannot create it', () => create(path, text))
