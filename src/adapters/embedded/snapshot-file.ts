import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Snapshots } from '../../projections/snapshots.ts'
import { closeToOthers } from './private-file.ts'

const OWN = 0o600

const synced = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** A snapshot in a file, its owner's alone: written whole beside the one before, and then put in its place. */
export const snapshotFile = (path: string): Snapshots => {
  const next = `${path}.new`
  closeToOthers(path)
  return {
    read: () =>
      readFile(path).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }),
    write: async (parts) => {
      try {
        const file = await open(next, 'w', OWN)
        try {
          await file.chmod(OWN)
          for await (const part of parts) await file.appendFile(part)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(next, path)
        await synced(dirname(path))
      } catch (error) {
        await rm(next, { force: true })
        throw error
      }
    },
    remove: () => rm(path, { force: true }),
  }
}
