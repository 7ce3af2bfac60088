import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const OWN = 0o600

/** Makes new names in a directory durable. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Path of the temporary file that receives the new content of a file, before it replaces the file. */
export const nextOf = (path: string): string => `${path}.new`

/** Path of the new content of a file that several processes replace at once. */
export const ownNextOf = (path: string): string => nextOf(`${path}.${process.pid}.${randomBytes(4).toString('hex')}`)

/**
 * Replaces a file durably; only its owner can access it. After a crash the file has its old or its new content. `next`
 * is the path of the temporary file that receives the new content.
 */
export const replaceFile = async (
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array | string>,
  next = nextOf(path),
): Promise<void> => {
  try {
    await rm(next, { force: true })
    const file = await open(next, 'wx', OWN)
    try {
      await file.chmod(OWN)
      for await (const part of parts) await file.appendFile(part)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
