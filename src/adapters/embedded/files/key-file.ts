import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { bytesOf, insistOnFiles } from '../../../regular-file.ts'
import { makeDirectory } from './directory.ts'

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

/**
 * Creates the file atomically and never replaces an existing one: two processes that create it at once read the same
 * file.
 */
const create = async (path: string, content: KeyFile): Promise<void> => {
  makeDirectory(dirname(path))
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(print(content))
    await file.sync()
    await link(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await file.close()
    await rm(temporary)
  }
  const directory = await open(dirname(path))
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
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
  if (peppers.length > 1) bad('has more than one pepper')
  return { pepper: { kid, key: secret(key, 'pepper') }, kek: secret(kek, 'kek') }
}

/**
 * Returns true if only the user of this process can read the file. A file without write permission (a mounted Secret)
 * may also be readable by a group of this process.
 */
const isPrivate = ({ mode, gid }: Stats): boolean =>
  (mode & 0o077) === 0 ||
  ((mode & 0o337) === 0 && [process.getegid?.(), ...(process.getgroups?.() ?? [])].includes(gid))

/** Runs work on the key file. Errors name the key file and the failed operation. */
const aboutFile = async <T>(path: string, problem: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`key file ${path} ${problem}: ${why}`, { cause })
  }
}

/**
 * Reads the key file of api.md §12.3; undefined if it does not exist. Throws if other users can read it or it is
 * invalid.
 */
export const readKeyFile = async (path: string): Promise<KeyFile | undefined> => {
  const found = await aboutFile(path, 'cannot be read', async () => {
    insistOnFiles(path)
    return stat(path).catch((error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? undefined : Promise.reject(error),
    )
  })
  if (!found) return undefined
  if (process.platform !== 'win32' && !isPrivate(found))
    throw new Error(
      `key file ${path} is readable by other users (mode ${(found.mode & 0o777).toString(8)}): set its mode to 600; a mounted Secret needs mode 440 and the group of this process`,
    )
  return parse(await aboutFile(path, 'cannot be read', async () => String(await bytesOf(path))), path)
}

/** Reads the key file. A key file that does not exist is created durably from the given keys or from new ones. */
export const openKeyFile = async (path: string, given?: KeyFile): Promise<KeyFile> => {
  const found = await readKeyFile(path)
  if (found) return found
  await aboutFile(path, 'does not exist and cannot be created', () => create(path, given ?? freshKeys()))
  return (await readKeyFile(path))!
}
