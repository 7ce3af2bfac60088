import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { bytesOf, insistOnFiles } from '../../../regular-file.ts'
import { makeDirectory } from './directory.ts'

const BYTES = 32

/** The service's own secrets: the pepper of the token digests under its id, and the key-encryption key of the keys of subjects. */
export type KeyFile = { readonly pepper: { readonly kid: string; readonly key: Uint8Array }; readonly kek: Uint8Array }

/** New secrets. */
export const freshKeys = (): KeyFile => ({
  pepper: { kid: randomBytes(4).toString('hex'), key: randomBytes(BYTES) },
  kek: randomBytes(BYTES),
})

const print = ({ pepper: { kid, key }, kek }: KeyFile): string => {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  return `${JSON.stringify({ pepper: { [kid]: text(key) }, kek: text(kek) }, undefined, 2)}\n`
}

/** Appears whole or not at all, and never in place of another: two processes that make it at once read the same one. */
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
  const bad = (what: string, cause?: unknown): never => {
    throw new Error(`key file ${path} ${what}`, { cause })
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

/** True when nobody but this process's own user can read it, or, of a file that nobody may write (a mounted Secret), its own group. */
const isPrivate = ({ mode, gid }: Stats): boolean =>
  (mode & 0o077) === 0 ||
  ((mode & 0o337) === 0 && [process.getegid?.(), ...(process.getgroups?.() ?? [])].includes(gid))

/** Does what concerns the key file, and says which one it is when that fails. */
const aboutFile = async <T>(path: string, what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`key file ${path} ${what}: ${why}`, { cause })
  }
}

/** Reads the key file of api.md §12.3; undefined when there is none. Throws when others may read it, or when it is not whole. */
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
      `key file ${path} may be read by others than its owner (mode ${(found.mode & 0o777).toString(8)}): chmod 600 it; in a mounted Secret, 440 and of this process's group`,
    )
  return parse(await aboutFile(path, 'cannot be read', async () => String(await bytesOf(path))), path)
}

/** Reads the key file, and makes it durably when there is none: of fresh keys, or of those given. */
export const openKeyFile = async (path: string, given?: KeyFile): Promise<KeyFile> => {
  const found = await readKeyFile(path)
  if (found) return found
  await aboutFile(path, 'is not there, and none can be made', () => create(path, given ?? freshKeys()))
  return (await readKeyFile(path))!
}
