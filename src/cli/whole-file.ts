import { open, rename } from 'node:fs/promises'
import { fail } from '../failure.ts'
import { whyUnread } from '../regular-file.ts'

/** Writes a file that appears under its name only when it is whole and on the disk. An existing file is replaced. */
export const writeWhole = async (path: string, text: string): Promise<void> => {
  const next = `${path}.new`
  try {
    const handle = await open(next, 'w')
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(next, path)
  } catch (error) {
    fail('failed', `${path} cannot be written (${whyUnread(error)}).`)
  }
}
