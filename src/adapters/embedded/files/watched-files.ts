import { statSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Clock, Timer } from '../../../base/clock.ts'
import { filesOf } from '../sqlite.ts'

/** Minimum free bytes for the disk to count as having space. */
const ROOM = 1_048_576
/** Interval in ms of the checks of the disk space and of the open files. */
const LOOK_MS = 5_000

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

/** Code of the error for an open file to which its path no longer leads. */
const TAKEN_AWAY = 'TAKEN_AWAY'
/** Errors of `stat` that prove that a path leads to no file. Other errors prove nothing. */
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']
const NOTHING = 'nothing'

const identity = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string => `${dev}:${ino}`
const unlessGone = (error: unknown): string | undefined =>
  GONE.includes((error as NodeJS.ErrnoException).code ?? '') ? NOTHING : undefined

/** Device and inode of the file at a path, or `NOTHING`; undefined if the system cannot find out. */
const identityNow = (path: string): string | undefined => {
  try {
    return identity(statSync(path, { bigint: true }))
  } catch (error) {
    return unlessGone(error)
  }
}
const identityAt = (path: string): Promise<string | undefined> =>
  stat(path, { bigint: true }).then(identity, unlessGone)

const differs = (found: string | undefined, own: string): boolean => found !== undefined && found !== own
/** Error of an open file that was moved, removed or replaced. */
export const takenAway = (path: string): Error =>
  Object.assign(new Error(`${path} was moved, removed or replaced while it was open`), { code: TAKEN_AWAY, path })

/** Returns true for the error of an open file that was moved, removed or replaced. */
export const isTakenAway = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === TAKEN_AWAY

/** Paths of the files that a connection keeps open: all but the rollback journal. */
export const openFilesOf = (path: string): readonly string[] => filesOf(path).slice(0, -1)

/** Existing files with their identities. A file that a process has open keeps its inode, also after its removal. */
const existing = (paths: readonly string[]): readonly (readonly [path: string, own: string])[] =>
  paths.flatMap((path) => {
    const own = identityNow(path)
    return own === undefined || own === NOTHING ? [] : [[path, own] as const]
  })

/** Returns a function that throws `TAKEN_AWAY` as soon as a path leads to a file other than the present one. */
export const insistOnSame = (paths: readonly string[]): (() => void) => {
  const files = existing(paths)
  return () => {
    for (const [path, own] of files) if (differs(identityNow(path), own)) throw takenAway(path)
  }
}

/** Size in bytes above which a write-ahead log counts as large. A reader keeps it from being written to its database. */
const LARGE = 128 * 1_048_576

/** Path, database and size in bytes of a write-ahead log. */
type WriteAheadLog = { readonly path: string; readonly database: string; readonly bytes: number }

/** Write-ahead logs of the databases among the paths. A database without one, or with one that cannot be found, is omitted. */
const logsOf = async (paths: Iterable<string>): Promise<readonly WriteAheadLog[]> => {
  const logs: WriteAheadLog[] = []
  for (const path of paths) {
    const log = `${path}-wal`
    const bytes = await stat(log).then(
      ({ size }) => size,
      () => undefined,
    )
    if (bytes !== undefined) logs.push({ path: log, database: basename(path), bytes })
  }
  return logs
}

/** Listener for a write-ahead log that becomes large, and that is no longer large. */
export type OnLargeLog = (file: string, bytes: number, isLarge: boolean) => void

/**
 * Compares open files with their paths at the interval at which the disk space is checked. Calls `onTaken` for the
 * first path that leads to another file or to none, and `onLarge` when a write-ahead log becomes large or small again.
 */
export const watchFiles = (clock: Clock, onTaken: (error: Error) => void, onLarge: OnLargeLog = () => undefined) => {
  const large = new Set<string>()
  let files = new Map<string, { readonly own: string }>()
  let looking: Promise<void> | undefined

  const look = async () => {
    for (const [path, file] of files) {
      const own = await identityAt(path)
      // The file may have been replaced by this process during the check.
      if (files.get(path) !== file) continue
      if (differs(own, file.own)) return onTaken(takenAway(path))
    }
    for (const { path, bytes } of await logsOf(files.keys())) {
      if (bytes > LARGE === large.has(path)) continue
      if (bytes > LARGE) large.add(path)
      else large.delete(path)
      onLarge(path, bytes, bytes > LARGE)
    }
  }
  const timer = clock.every(LOOK_MS, () => {
    looking ??= look().finally(() => (looking = undefined))
  })

  return {
    /** Begins to compare files that exist. The process must have them open. */
    add: (...paths: readonly string[]): void => {
      for (const [path, own] of existing(paths)) files.set(path, { own })
    },
    /** Stops the comparison of files that this process closes or replaces. */
    forget: (...paths: readonly string[]): void => {
      for (const path of paths) files.delete(path)
    },
    /** Present write-ahead logs of the databases among the files. */
    logs: (): Promise<readonly WriteAheadLog[]> => logsOf(files.keys()),
    close: (): void => {
      timer.cancel()
      files = new Map()
    },
  }
}
