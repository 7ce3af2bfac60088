import { randomUUID } from 'node:crypto'
import { createWriteStream, statSync } from 'node:fs'
import { appendFile, open, realpath, rename, rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fail } from '../base/failure.ts'
import { insistOnFiles, noFileAt, whyUnread } from '../base/regular-file.ts'

/** Streams of the process by their names. Such a name can lead to a regular file, which belongs to the shell. */
const STREAMS = /^\/(?:dev\/(?:std(?:out|err)|fd\/)|proc\/self\/fd\/)/
const OUT = new Set(['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'])

const isStream = (path: string): boolean =>
  STREAMS.test(path) || ['a named pipe', 'a device'].includes(noFileAt(path) ?? '')

const pass = (path: string, text: string): Promise<void> =>
  OUT.has(path)
    ? new Promise((done, failed) => {
        createWriteStream('', { fd: 1, autoClose: false }).on('error', failed).end(text, done)
      })
    : appendFile(path, text)

const replace = async (path: string, text: string): Promise<void> => {
  insistOnFiles(path)
  const found = statSync(path, { throwIfNoEntry: false })
  const target = found ? await realpath(path) : path
  const next = join(dirname(target), `.rollcall-${randomUUID()}`)
  const handle = await open(next, 'wx')
  try {
    try {
      if (found && userInfo().uid === 0) await handle.chown(found.uid, found.gid)
      if (found) await handle.chmod(found.mode & 0o7777)
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(next, target)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}

/**
 * Writes a file that appears under its name only when it is whole and on the disk. A replaced file keeps its mode, and
 * its symbolic link. A pipe or a device receives the text.
 */
export const writeWhole = async (path: string, text: string): Promise<void> => {
  try {
    await (isStream(path) ? pass(path, text) : replace(path, text))
  } catch (error) {
    fail('failed', `${path} cannot be written (${whyUnread(error)}).`)
  }
}
