import { open, readFile, rename } from 'node:fs/promises'
import { fail } from '../../failure.ts'

/** Index of the last printed event; undefined if there is no file yet. */
export const readCursor = async (file: string): Promise<number | undefined> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : fail('usage', `The file of --cursor cannot be read (${code}).`)
  })
  if (text === undefined) return undefined
  return /^\d{1,15}\n?$/.test(text) ? Number(text) : fail('usage', 'The file of --cursor does not contain an index.')
}

/** Replaces the file atomically, so that it always contains a whole index. */
export const writeCursor = async (file: string, index: number): Promise<void> => {
  const next = `${file}.new`
  const handle = await open(next, 'w')
  try {
    await handle.writeFile(`${index}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(next, file)
}
