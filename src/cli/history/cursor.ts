import { readFile } from 'node:fs/promises'
import { fail } from '../../base/failure.ts'
import { writeWhole } from '../whole-file.ts'

/** Index of the last printed event; undefined if there is no file yet. */
export const readCursor = async (file: string): Promise<number | undefined> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : fail('usage', `The file of --cursor cannot be read (${code}).`)
  })
  if (text === undefined) return undefined
  return /^\d{1,15}$/.test(text.trim())
    ? Number(text)
    : fail('usage', 'The file of --cursor does not contain the index of an event.')
}

/** Replaces the file atomically, so that it always contains a whole index. */
export const writeCursor = (file: string, index: number): Promise<void> => writeWhole(file, `${index}\n`)
