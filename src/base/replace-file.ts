import { randomBytes } from 'node:crypto'
import { fchownSync, type Stats } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const [OWN, BY_UMASK] = [0o600, 0o666]

/**
 * Gives an open file that root has made the owner and group of another file or directory, so that the user of the
 * service can open it. Has no effect for other users.
 */
export const giveTo = (file: number, { uid, gid }: Pick<Stats, 'uid' | 'gid'>): void => {
  if (process.geteuid?.() !== 0) return
  try {
    fchownSync(file, uid, gid)
  } catch (error) {
    // Root in a container may be unable to give files away.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

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

/** True for the name of such a path of the file with this name. */
export const isOwnNextOf = (found: string, name: string): boolean =>
  found.startsWith(name) && /^\.\d+\.[0-9a-f]{8}\.new$/.test(found.slice(name.length))

const firstOf = async (paths: readonly string[]): Promise<Stats> => {
  const [path = '.', ...others] = paths
  return stat(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' && others.length > 0 ? firstOf(others) : Promise.reject(error),
  )
}

/**
 * Replaces a file. After a crash the file has its old or its new content. `next` is the path of the temporary file that
 * receives the new content. The new file has the mode and owner of the file `like`. If there is none, a private file is
 * accessible only to its owner, who is that of the directory if root makes it. The name of a private file is durable.
 */
export const replaceFile = async (
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array | string>,
  next = nextOf(path),
  like = path,
  isPrivate = true,
): Promise<void> => {
  try {
    await rm(next, { force: true })
    const file = await open(next, 'wx', isPrivate ? OWN : BY_UMASK)
    try {
      const model = await firstOf([like, path, dirname(path)])
      if (isPrivate || model.isFile()) {
        giveTo(file.fd, model)
        await file.chmod(model.isFile() ? model.mode & 0o777 : OWN)
      }
      for await (const part of parts) await file.appendFile(part)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, path)
    if (isPrivate) await syncDirectory(dirname(path))
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
