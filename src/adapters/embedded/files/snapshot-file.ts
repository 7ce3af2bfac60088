import { rm } from 'node:fs/promises'
import { bytesOf, noFileAt } from '../../../base/regular-file.ts'
import { nextOf, replaceFile } from '../../../base/replace-file.ts'
import type { Snapshots } from '../../../projections/snapshots.ts'
import { closeToOthers } from './private-file.ts'
import { setAside } from './set-aside.ts'

/**
 * Snapshot in a file that only its owner can access. The snapshot is written to a temporary file, which is then
 * renamed. An object at its path that is not a file is set aside; `onSetAside` receives its new name and the reason.
 * Nothing is written once `isTaken` returns true, because the path may lead to the files of another process.
 */
export const snapshotFile = (
  path: string,
  onSetAside: (file: string, why: Error) => void = () => undefined,
  isTaken: () => boolean = () => false,
): Snapshots => {
  for (const place of [path, nextOf(path)]) {
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
    write: async (parts) => (isTaken() ? undefined : replaceFile(path, parts)),
    remove: () => rm(path, { force: true }),
  }
}
