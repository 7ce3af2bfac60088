import { randomUUID } from 'node:crypto'
import { createWriteStream, existsSync, readFileSync, statSync } from 'node:fs'
import { appendFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fail, isFailure } from '../base/failure.ts'
import { insistOnFiles, noFileAt, whyUnread } from '../base/regular-file.ts'
import { replaceFile } from '../base/replace-file.ts'

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
  const target = existsSync(path) ? await realpath(path) : path
  await replaceFile(target, [text], join(dirname(target), `.rollcall-${randomUUID()}`), target, false)
}

/** Bytes of a file that the user names, at most `most`; `name` stands for it in messages. */
export const bytesGiven = (path: string, name = path, most = Infinity): Buffer => {
  try {
    if (statSync(path).size > most) fail('usage', `${name} contains more than ${most} bytes.`)
    return readFileSync(path)
  } catch (error) {
    if (isFailure(error)) throw error
    return fail('usage', `${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`)
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
