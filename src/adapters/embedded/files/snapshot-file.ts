import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Snapshots } from '../../../projections/snapshots.ts'
import { bytesOf, noFileAt } from '../../../regular-file.ts'
import { closeToOthers } from './private-file.ts'
import { setAside } from './set-aside.ts'

const OWN = 0o600

const synced = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/**
 * Snapshot in a file that only its owner can access. The snapshot is written to a temporary file, which is then
 * renamed. An object at its path that is not a file is set aside; `onSetAside` receives its new name and the reason.
 */
export const snapshotFile = (
  path: string,
  onSetAside: (file: string, why: Error) => void = () => undefined,
): Snapshots => {
  const next = `${path}.new`
  for (const place of [path, next]) {
    const found = noFileAt(place)
    if (found !== undefined) onSetAside(setAside(place), new Error(`${place} is ${found}, not a file`))
  }
  closeToOthers(path)
  return {
    read: () =>
      bytesOf(path).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }),
    write: async (parts) => {
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
        await synced(dirname(path))
      } catch (error) {
        await rm(next, { force: true })
        throw error
      }
    },
    remove: () => rm(path, { force: true }),
  }
}
