import { statfs } from 'node:fs/promises'
import type { Clock, Timer } from '../../../clock.ts'

/** So much free space is room. */
const ROOM = 1_048_576
const LOOK_MS = 5_000

/** Whether the file system has room for this process: what is kept for the superuser is room for nobody else. */
const hasRoom = async (directory: string): Promise<boolean> => {
  const { bsize, bfree, bavail } = await statfs(directory)
  return bsize * (process.getuid?.() === 0 ? bfree : bavail) >= ROOM
}

/** Whether the disk of a directory is full: from the first write that found no room until the file system reports some. `onFull` is called at both. */
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
    /** Takes note of a write that found no room; gives its cause. */
    lacking: (): Error => {
      if (timer === undefined) {
        onFull(true)
        lookLater()
      }
      return Object.assign(new Error(`disk full: there is no room in ${directory}`), { code: 'ENOSPC' })
    },
    close: (): void => {
      timer?.cancel()
      timer = undefined
    },
  }
}
