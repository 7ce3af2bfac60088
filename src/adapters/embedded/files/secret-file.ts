import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fchmodSync, openSync, type Stats, statSync } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../../../base/errors.ts'
import { bytesOf, insistOnFiles } from '../../../base/regular-file.ts'
import { giveTo, syncDirectory } from '../../../base/replace-file.ts'
import { makeDirectory } from './directory.ts'

const OWN = 0o600

const madeNow = (path: string, staysOwn: boolean): boolean => {
  try {
    const file = openSync(path, 'wx', OWN)
    fchmodSync(file, OWN)
    if (!staysOwn) giveTo(file, statSync(dirname(path)))
    closeSync(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes the permissions of group and others from a file. Ignores missing paths and paths that are not regular files.
 */
export const closeToOthers = (path: string): void => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(path, found.mode & 0o700)
}

/**
 * Ensures that a file exists and only its owner can access it, regardless of the umask; creates missing parent
 * directories, which only their owner can access either. Never opens an existing file, because closing it would release
 * the locks that SQLite holds on it. A new file that root makes gets the owner and group of its directory, unless it
 * `staysOwn`.
 */
export const privateFile = (path: string, staysOwn = false): void => {
  makeDirectory(dirname(path))
  if (!madeNow(path, staysOwn)) closeToOthers(path)
}

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

const BYTES = 32

/** Secrets of the service: the pepper of token digests with its id, and the key-encryption key of the subject keys. */
export type KeyFile = { readonly pepper: { readonly kid: string; readonly key: Uint8Array }; readonly kek: Uint8Array }

/** Generates new secrets. */
const freshKeys = (): KeyFile => ({
  pepper: { kid: randomBytes(4).toString('hex'), key: randomBytes(BYTES) },
  kek: randomBytes(BYTES),
})

const print = ({ pepper: { kid, key }, kek }: KeyFile): string => {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  return `${JSON.stringify({ pepper: { [kid]: text(key) }, kek: text(kek) }, undefined, 2)}\n`
}

const parse = (text: string, path: string): KeyFile => {
  const bad = (problem: string, cause?: unknown): never => {
    throw new Error(`key file ${path} ${problem}`, { cause })
  }
  const secret = (value: unknown, name: string): Uint8Array => {
    const bytes =
      typeof value === 'string' && /^[A-Za-z0-9_-]+$/.test(value) ? Buffer.from(value, 'base64url') : Buffer.alloc(0)
    return bytes.length === BYTES ? bytes : bad(`has no ${name} of ${BYTES} bytes in base64url`)
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (cause) {
    bad('is not JSON', cause)
  }
  const { pepper, kek } = (content ?? {}) as { readonly pepper?: unknown; readonly kek?: unknown }
  const peppers = Object.entries((typeof pepper === 'object' && pepper) || {})
  const [kid, key] = peppers[0] ?? bad('has no pepper')
  if (peppers.length > 1) bad('contains more than one pepper; it must contain exactly one')
  return { pepper: { kid, key: secret(key, 'pepper') }, kek: secret(kek, 'kek') }
}

/**
 * Reads the key file of api.md §12.3; undefined if the file does not exist. Throws if other users can read the file or
 * its content is invalid.
 */
export const readKeyFile = async (path: string): Promise<KeyFile | undefined> => {
  const text = await readSecretFile('key file', path)
  return text === undefined ? undefined : parse(text, path)
}

/** Reads the key file. A key file that does not exist is created durably from the given keys or from new ones. */
export const openKeyFile = async (path: string, given?: KeyFile): Promise<KeyFile> => {
  const found = await readKeyFile(path)
  if (found) return found
  await createSecretFile('key file', path, print(given ?? freshKeys()))
  return (await readKeyFile(path))!
}
