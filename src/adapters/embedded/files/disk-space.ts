import { statfs } from 'node:fs/promises'
import type { Clock, Timer } from '../../../base/clock.ts'

/** Minimum free bytes for the disk to count as having space. */
const ROOM = 1_048_576
/** Interval in ms of the checks of the disk space and of the open files. */
export const LOOK_MS = 5_000

/** Returns true if the file system has space for this process. Some blocks of a disk are reserved for the superuser. */
const hasRoom = async (directory: string): Promise<boolean> => {
  const { bsize, bfree, bavail } = await statfs(directory)
  return bsize * (process.getuid?.() === 0 ? bfree : bavail) >= ROOM
}

/**
 * Tracks whether the disk of a directory is full. The disk counts as full from the first write that fails with ENOSPC
 * until the file system reports free space. `onFull` is called when the disk becomes full and when it has space again.
 */
export const roomOf = (directory: string, clock: Clock, onFull: (full: boolean) => void) => {
  let timer: Timer | undefined

  const look = async () => {
    const room = await hasRoom(directory).catch(() => false)
    if (timer === undefined) return
    timer = undefined
    if (room) onFull(false)
    else lookLater()
  }
  const lookLater = () => {
    timer = clock.after(LOOK_MS, () => void look()).unref()
  }

  return {
    full: (): boolean => timer !== undefined,
    /** Records a write that failed because the disk is full, and returns its cause. */
    lacking: (): Error => {
      if (timer === undefined) {
        onFull(true)
        lookLater()
      }
      return Object.assign(new Error(`the disk is full: no space is left in ${directory}`), { code: 'ENOSPC' })
    },
    close: (): void => {
      timer?.cancel()
      timer = undefined
    },
  }
}
