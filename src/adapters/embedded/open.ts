import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { bytesOf, insistOnFiles, noFileAt } from '../../base/regular-file.ts'
import { nextOf, replaceFile } from '../../base/replace-file.ts'
import type { Binding, EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Snapshots, Views } from '../../projections/views.ts'
import { makeDirectory, setAside } from './files/directory.ts'
import { LOCK, lockDirectory } from './files/lock.ts'
import { inspection } from './files/look.ts'
import { closeToOthers } from './files/secret-file.ts'
import { isTakenAway, type OnLargeLog, openFilesOf, roomOf, watchFiles } from './files/watched-files.ts'
import { embeddedBinding, embeddedKeys, type Standing, withStanding } from './keys.ts'
import { embeddedLog, type LogFile } from './log.ts'
import { embeddedQueue } from './queue.ts'
import type { Files } from './read-only.ts'
import { damagedFile, filesOf, isBroken, isMisshapen, ofFile, openDatabase, whileOpen } from './sqlite.ts'
import { type Renewal, renewableViews } from './views/renewable-views.ts'
import { embeddedRecords, embeddedViews, type ViewReaders } from './views/views.ts'
import { type Channel, openChannel } from './writer/channel.ts'

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

type OpenViews = Pick<ViewReaders, 'clock' | 'events'> & { readonly channel: Channel; readonly ofLog: LogFile }

/** Returns a function that opens the views of a file and adds the file to those that are watched. */
const viewsOf =
  (file: string, { channel, clock, events, ofLog }: OpenViews, watch: (...files: readonly string[]) => void) =>
  (onDamage: (error: Error) => void) =>
    ofFile(
      file,
      async () => {
        const reader = await openDatabase(file, 'read')
        const close = () => reader.close()
        const another = () => openDatabase(file, 'read')
        try {
          const watched = { views: { file, onDamage }, events: ofLog }
          const views = embeddedViews(channel, { clock, views: reader, events, another, watched })
          watch(...openFilesOf(file))
          return { views, close }
        } catch (error) {
          close()
          throw error
        }
      },
      isMisshapen,
    )

type Closeable = { readonly close: () => void }

/** Open connections of a data directory. The writer thread writes no more once one of their files is taken away. */
const connections = (clock: Clock, onLost: (error: Error) => void, onLarge?: OnLargeLog) => {
  const readers: Closeable[] = []
  let channel: Channel | undefined
  let isTaken = false
  const watch = watchFiles(clock, (error) => channel?.loseAll(error), onLarge)
  const closeReaders = () => {
    for (const reader of readers) reader.close()
  }
  return {
    /** Listener of the writer thread for a loss. */
    onLost: (error: Error): void => {
      isTaken ||= isTakenAway(error)
      onLost(error)
    },
    /** Returns true once a file was moved, removed or replaced. */
    isTaken: (): boolean => isTaken,
    addWriter: (writer: Channel): Channel => (channel = writer),
    addReader: <R extends Closeable>(reader: R): R => {
      readers.push(reader)
      return reader
    },
    watch: watch.add,
    forget: watch.forget,
    logs: watch.logs,
    /**
     * Closes the readers first: only the last connection can checkpoint the write-ahead log completely. If a file was
     * taken away, closes the writer first: the last connection that can write removes the write-ahead log by its path,
     * which may lead to the file of another process.
     */
    close: async (): Promise<void> => {
      watch.close()
      if (!isTaken) closeReaders()
      await channel?.close()
      if (isTaken) closeReaders()
    },
  }
}

export type Embedded = {
  readonly log: EventLog
  readonly views: Views
  readonly snapshots: Snapshots
  readonly queue: Queue
  readonly keys: Keys
  readonly binding: Binding
  readonly files: Files
  /** Rebuilds damaged read models while the service runs. */
  readonly renewal: Renewal
  /** True while the disk is full. */
  readonly full: () => boolean
  /** Adds an open file to those that must stay at their paths. */
  readonly watch: (file: string) => void
  /** Sizes in bytes of the write-ahead logs, with the names of their databases. */
  readonly writeAheadLogs: () => Promise<readonly { readonly database: string; readonly bytes: number }[]>
  /** Examines the files while they are in use. Reports damage to the listeners. */
  readonly inspect: (signal: AbortSignal) => Promise<void>
  /** Stops the jobs, writes pending rows and releases the directory. */
  readonly close: () => Promise<void>
}
/** Key-encryption key to use, and the losses that the operator accepted. */
type Kek = {
  readonly kek: Uint8Array
  /** Set if an operator accepted damage of the log. Appends an event about the accepted damage. */
  readonly damage?: ((log: EventLog) => Promise<void>) | undefined
  /** Set if an operator accepted the loss of keys. Appends an event about the loss before new keys are created. */
  readonly accepted?: ((log: EventLog) => Promise<void>) | undefined
}
type EmbeddedOptions = {
  readonly clock: Clock
  /** Key-encryption key (32 bytes), or a function that chooses it before any file is created. */
  readonly kek: Uint8Array | ((standing: Standing) => Promise<Kek>)
  /** Called for every failed run of a job. */
  readonly onError: (job: string, error: unknown) => void
  /** Called once when a file can no longer be written, was taken away, or the writer thread ends unexpectedly. */
  readonly onLost?: (error: Error) => void
  /** Called once when a read finds the log damaged. */
  readonly onDamage?: (error: Error) => void
  /** Called for each damaged file of read models, after the file was renamed. */
  readonly onDamagedViews?: (error: Error) => void
  /** Called with the new name of the file of read models that was set aside. */
  readonly onSetAside?: (file: string, cause: Error) => void
  /** Called when something that is not a file is moved away from the path of the snapshot. */
  readonly onSnapshotSetAside?: (file: string, cause: Error) => void
  /** Called when the disk becomes full and when it has space again. */
  readonly onFull?: (full: boolean) => void
  /** Called when a write-ahead log becomes large, and when it is small again. */
  readonly onLargeLog?: OnLargeLog
  /** Appends events with their own times, also if these decrease. */
  readonly keepsTimes?: boolean
}

/** Forwards only the first call to the listener. */
const once = (listener: (error: Error) => void) => {
  let reported = false
  return (error: Error): void => {
    if (!reported) listener(error)
    reported = true
  }
}

type Opened = { readonly store: Embedded } | { readonly spoiled: Error }

/** Opens the store. If the file of the read models is damaged, the function renames it and returns the damage. */
const opened = async (directory: string, options: EmbeddedOptions): Promise<Opened> => {
  const { clock, kek: given, onError, onLost = () => undefined, onFull = () => undefined, onSetAside } = options
  let spoiled: Error | undefined
  const onDamage = once((error) => options.onDamage?.(error))
  makeDirectory(directory)
  const paths = {
    events: join(directory, 'events.sqlite'),
    views: join(directory, 'views.sqlite'),
    subjects: join(directory, 'subjects.sqlite'),
    keepsTimes: options.keepsTimes ?? false,
  }
  /** Moves the damaged file away at once, so that it does not remain if a slow shutdown is killed. */
  const putAside = (error: Error): void => {
    spoiled = undefined
    open.forget(...filesOf(paths.views))
    try {
      onSetAside?.(setAside(paths.views), error)
    } catch (failed) {
      onLost(failed as Error)
    }
  }
  const onDamagedViews = (error: Error): void => {
    putAside(error)
    options.onDamagedViews?.(error)
  }
  for (const file of [paths.events, paths.subjects]) await ofFile(file, () => insistOnFiles(...filesOf(file)))
  const unlock = await lockDirectory(directory)
  const room = roomOf(directory, clock, onFull)
  const open = connections(clock, onLost, options.onLargeLog)
  let readModels: Awaited<ReturnType<typeof renewableViews>> | undefined
  const release = async () => {
    room.close()
    await open.close()
    if (spoiled) putAside(spoiled)
    unlock()
  }
  try {
    const decided = typeof given === 'function' ? await withStanding(paths, given) : { kek: given }
    const { kek, damage, accepted }: Kek = decided
    const damagedViews = (error: Error) => (readModels ? readModels.damaged(error) : onDamagedViews(error))
    const listeners = { onLost: open.onLost, onDamagedViews: damagedViews, noRoom: room.lacking }
    const writer = open.addWriter(await openChannel(paths, listeners))
    const events = open.addReader(await openDatabase(paths.events, 'read'))
    const ofLog = { file: paths.events, onDamage }
    const log = embeddedLog(writer, events, ofLog)
    await damage?.(log)
    await accepted?.(log)
    const keys = await embeddedKeys(writer, kek, accepted !== undefined)
    const reading = whileOpen(() => true, { ...ofLog, isDamage: isBroken })
    const opening = viewsOf(paths.views, { channel: writer, clock, events, ofLog }, open.watch)
    const records = embeddedRecords(writer, events, clock, reading)
    readModels = open.addReader(await renewableViews(writer, records, opening, onDamagedViews))
    const { views, renewal, file, damaged } = readModels
    open.watch(...[paths.events, paths.subjects, join(directory, LOCK)].flatMap(openFilesOf))
    const queue = embeddedQueue(writer, events, clock, onError, reading)
    const close = async () => {
      for (const port of [queue, log, views, keys]) await port.close()
      await release()
    }
    const binding = embeddedBinding(writer)
    const snapshots = snapshotFile(join(directory, 'memory.snapshot'), options.onSnapshotSetAside, open.isTaken)
    const files: Files = {
      paths,
      flushed: views.flushed,
      onDamage: (of, error, era) => (of === paths.views ? damaged(error, era) : onDamage(error)),
      views: file,
    }
    const ports = { log, views, snapshots, queue, keys, binding, inspect: inspection(paths, onDamage, damagedViews) }
    const { watch, logs: writeAheadLogs } = open
    return { store: { ...ports, files, renewal, full: room.full, watch, writeAheadLogs, close } }
  } catch (error) {
    const found = damagedFile(error) === paths.views ? (error as Error) : undefined
    spoiled = found
    await release()
    if (found) return { spoiled: found }
    throw error
  }
}

/**
 * Opens the embedded store with one writer thread. The store has three databases: events.sqlite must never be lost;
 * views.sqlite may be deleted and is rebuilt if it does not open; subjects.sqlite supports erasure. Throws if another
 * process has locked the directory.
 */
export const openEmbedded = async (directory: string, options: EmbeddedOptions): Promise<Embedded> => {
  for (let again = false; ; again = true) {
    const found = await opened(directory, options)
    if ('store' in found) return found.store
    if (again) throw found.spoiled
  }
}
