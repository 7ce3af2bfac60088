import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { giveTo } from './private-file.ts'

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

/** Attributes of the first of these paths that exists. */
const firstOf = async (paths: readonly string[]): Promise<Stats> => {
  const [path = '.', ...others] = paths
  return stat(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' && others.length > 0 ? firstOf(others) : Promise.reject(error),
  )
}

/**
 * Replaces a file durably. After a crash the file has its old or its new content. `next` is the path of the temporary
 * file that receives the new content. The new file has the mode of the file `like`, and only its owner can access it if
 * there is none. If root makes it, it gets the owner and group of that file, or of the directory.
 */
export const replaceFile = async (
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array | string>,
  next = nextOf(path),
  like = path,
): Promise<void> => {
  try {
    await rm(next, { force: true })
    const file = await open(next, 'wx', OWN)
    try {
      const model = await firstOf([like, path, dirname(path)])
      giveTo(file.fd, model)
      await file.chmod(model.isFile() ? model.mode & 0o777 : OWN)
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
