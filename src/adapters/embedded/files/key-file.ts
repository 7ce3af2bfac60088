import { randomBytes } from 'node:crypto'
import { createSecretFile, readSecretFile } from './secret-file.ts'

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
