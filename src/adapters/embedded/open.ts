import { join } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { Binding } from '../../events/binding.ts'
import type { EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { Views } from '../../projections/views.ts'
import { insistOnFiles } from '../../regular-file.ts'
import { makeDirectory } from './files/directory.ts'
import { roomOf } from './files/disk-space.ts'
import { lockDirectory } from './files/lock.ts'
import { setAside } from './files/set-aside.ts'
import { snapshotFile } from './files/snapshot-file.ts'
import { type Standing, withStanding } from './files/standing.ts'
import { embeddedBinding, embeddedKeys } from './keys.ts'
import { embeddedLog, type LogFile } from './log.ts'
import { embeddedQueue } from './queue.ts'
import type { Files } from './read-only.ts'
import { damagedFile, filesOf, isBroken, isMisshapen, ofFile, openDatabase, whileOpen } from './sqlite.ts'
import { type Renewal, renewableViews } from './views/renewable-views.ts'
import { embeddedRecords } from './views/view-records.ts'
import { embeddedViews, type ViewReaders } from './views/views.ts'
import { type Channel, openChannel } from './writer/channel.ts'

export type Embedded = {
  readonly log: EventLog
  readonly views: Views
  readonly snapshots: Snapshots
  readonly queue: Queue
  readonly keys: Keys
  readonly binding: Binding
  readonly files: Files
  /** Makes damaged read models anew while all else goes on. */
  readonly renewal: Renewal
  /** True while the disk has no room for what is to be written. */
  readonly full: () => boolean
  /** Ends the jobs, writes what waits, and gives the directory free. */
  readonly close: () => Promise<void>
}
/** The key-encryption key to go on with. */
export type Kek = {
  readonly kek: Uint8Array
  /** The log is damaged, and that was accepted: tells the history so. */
  readonly damage?: ((log: EventLog) => Promise<void>) | undefined
  /** Keys of subjects are lost, and that was accepted: tells the history so, before new ones are made. */
  readonly accepted?: ((log: EventLog) => Promise<void>) | undefined
}
export type EmbeddedOptions = {
  readonly clock: Clock
  /** Key-encryption key, 32 bytes; or who decides on it by what stands in the directory, before anything of it is made. */
  readonly kek: Uint8Array | ((standing: Standing) => Promise<Kek>)
  /** Told of every run of a job that failed. */
  readonly onError: (job: string, error: unknown) => void
  /** Told once when a file can be written no more, or the writer has ended unasked. */
  readonly onLost?: (error: Error) => void
  /** Told once when the log is found damaged by who reads it. */
  readonly onDamage?: (error: Error) => void
  /** Told of each file of read models that is found damaged, once it is set aside. */
  readonly onDamagedViews?: (error: Error) => void
  /** Told when that is done, with its new name. */
  readonly onSetAside?: (file: string, cause: Error) => void
  /** Told when something was set aside that stood in the place of the snapshot and is no file. */
  readonly onSnapshotSetAside?: (file: string, cause: Error) => void
  /** Told when the disk is full, and when there is room again. */
  readonly onFull?: (full: boolean) => void
}

/** Passes on the first call alone. */
const once = (tell: (error: Error) => void) => {
  let reported = false
  return (error: Error): void => {
    if (!reported) tell(error)
    reported = true
  }
}

/** Opens the views that there are in a file. */
const viewsOf =
  (
    file: string,
    { channel, clock, events, ofLog }: Pick<ViewReaders, 'clock' | 'events'> & { channel: Channel; ofLog: LogFile },
  ) =>
  (onDamage: (error: Error) => void) =>
    ofFile(
      file,
      async () => {
        const reader = await openDatabase(file, 'read')
        const close = () => reader.close()
        const another = () => openDatabase(file, 'read')
        try {
          const watched = { views: { file, onDamage }, events: ofLog }
          return { views: embeddedViews(channel, { clock, views: reader, events, another, watched }), close }
        } catch (error) {
          close()
          throw error
        }
      },
      isMisshapen,
    )

type Opened = { readonly store: Embedded } | { readonly spoiled: Error }

/** Opens the store, or gives what is wrong with the file of the read models, which was set aside then. */
const opened = async (directory: string, options: EmbeddedOptions): Promise<Opened> => {
  const { clock, kek: given, onError, onLost = () => undefined, onFull = () => undefined, onSetAside } = options
  let spoiled: Error | undefined
  const onDamage = once((error) => options.onDamage?.(error))
  makeDirectory(directory)
  const paths = {
    events: join(directory, 'events.sqlite'),
    views: join(directory, 'views.sqlite'),
    subjects: join(directory, 'subjects.sqlite'),
  }
  /** At once: open connections go on with the file that they have, and an end that takes too long leaves no damage behind. */
  const putAside = (error: Error): void => {
    spoiled = undefined
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
  const readers: { readonly close: () => void }[] = []
  const room = roomOf(directory, clock, onFull)
  let channel: Channel | undefined
  let readModels: Awaited<ReturnType<typeof renewableViews>> | undefined
  /** The writer goes last: only then can it bring everything into the files themselves. */
  const release = async () => {
    room.close()
    for (const reader of readers) reader.close()
    await channel?.close()
    if (spoiled) putAside(spoiled)
    unlock()
  }
  try {
    const decided = typeof given === 'function' ? await withStanding(paths, given) : { kek: given }
    const { kek, damage, accepted }: Kek = decided
    const damagedViews = (error: Error) => (readModels ? readModels.damaged(error) : onDamagedViews(error))
    const writer = await openChannel(paths, { onLost, onDamagedViews: damagedViews, noRoom: room.lacking })
    channel = writer
    const events = await openDatabase(paths.events, 'read')
    readers.push(events)
    const ofLog = { file: paths.events, onDamage }
    const log = embeddedLog(writer, events, ofLog)
    await damage?.(log)
    await accepted?.(log)
    const keys = await embeddedKeys(writer, kek, accepted !== undefined)
    const reading = whileOpen(() => true, { ...ofLog, isDamage: isBroken })
    const opening = viewsOf(paths.views, { channel: writer, clock, events, ofLog })
    const records = embeddedRecords(writer, events, clock, reading)
    readModels = await renewableViews(writer, records, opening, onDamagedViews)
    const { views, renewal, file, damaged } = readModels
    readers.push(readModels)
    const queue = embeddedQueue(writer, events, clock, onError, reading)
    const close = async () => {
      for (const port of [queue, log, views, keys]) await port.close()
      await release()
    }
    const binding = embeddedBinding(writer)
    const snapshots = snapshotFile(join(directory, 'memory.snapshot'), options.onSnapshotSetAside)
    const files: Files = {
      paths,
      flushed: views.flushed,
      onDamage: (of, error, era) => (of === paths.views ? damaged(error, era) : onDamage(error)),
      views: file,
    }
    return { store: { log, views, snapshots, queue, keys, binding, files, renewal, full: room.full, close } }
  } catch (error) {
    const found = damagedFile(error) === paths.views ? (error as Error) : undefined
    spoiled = found
    await release()
    if (found) return { spoiled: found }
    throw error
  }
}

/**
 * Opens the whole embedded store over one writer thread. Three databases, by what may happen to them: events.sqlite must never be lost,
 * views.sqlite can be deleted at any time, and is made anew where it does not open, subjects.sqlite must be able to forget. Throws when
 * another process has the directory.
 */
export const openEmbedded = async (directory: string, options: EmbeddedOptions): Promise<Embedded> => {
  for (let again = false; ; again = true) {
    const found = await opened(directory, options)
    if ('store' in found) return found.store
    if (again) throw found.spoiled
  }
}
