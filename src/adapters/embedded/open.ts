import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Binding } from '../../events/binding.ts'
import type { EventLog } from '../../events/log.ts'
import type { Keys } from '../../events/personal.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Snapshots } from '../../projections/snapshots.ts'
import type { Views } from '../../projections/views.ts'
import { type Channel, openChannel } from './channel.ts'
import { embeddedBinding, embeddedKeys } from './keys.ts'
import { lockDirectory } from './lock.ts'
import { embeddedLog } from './log.ts'
import { embeddedQueue } from './queue.ts'
import { roomOf } from './disk-space.ts'
import { snapshotFile } from './snapshot-file.ts'
import { type Database, openDatabase } from './sqlite.ts'
import { type Standing, withStanding } from './standing.ts'
import { embeddedViews } from './views.ts'

export type Embedded = {
  readonly log: EventLog
  readonly views: Views
  readonly snapshots: Snapshots
  readonly queue: Queue
  readonly keys: Keys
  readonly binding: Binding
  /** True while the disk has no room for what is to be written. */
  readonly full: () => boolean
  /** Ends the jobs, writes what waits, and gives the directory free. */
  readonly close: () => Promise<void>
}
/** The key-encryption key to go on with. */
export type Kek = {
  readonly kek: Uint8Array
  /** Keys of subjects are lost, and that was accepted: tells the history so, before new ones are made. */
  /** The log is damaged, and that was accepted: tells the history so. */
  readonly damage?: ((log: EventLog) => Promise<void>) | undefined
  readonly accepted?: ((log: EventLog) => Promise<void>) | undefined
}
export type EmbeddedOptions = {
  /** Key-encryption key, 32 bytes; or who decides on it by what stands in the directory, before anything of it is made. */
  readonly kek: Uint8Array | ((standing: Standing) => Promise<Kek>)
  /** Told of every run of a job that failed. */
  readonly onError: (job: string, error: unknown) => void
  /** Told once when a file can be written no more, or the writer has ended unasked. */
  readonly onLost?: (error: Error) => void
  /** Told when the disk is full, and when there is room again. */
  readonly onFull?: (full: boolean) => void
}

/**
 * Opens the whole embedded store over one writer thread. Three databases, by what may happen to them: events.sqlite must never be lost,
 * views.sqlite can be deleted at any time, subjects.sqlite must be able to forget. Throws when another process has the directory.
 */
export const openEmbedded = async (directory: string, options: EmbeddedOptions): Promise<Embedded> => {
  const { kek: given, onError, onLost = () => undefined, onFull = () => undefined } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const paths = {
    events: join(directory, 'events.sqlite'),
    views: join(directory, 'views.sqlite'),
    subjects: join(directory, 'subjects.sqlite'),
  }
  const unlock = await lockDirectory(directory)
  const readers: Database[] = []
  const room = roomOf(directory, onFull)
  let channel: Channel | undefined
  /** The writer goes last: only then can it bring everything into the files themselves. */
  const release = async () => {
    room.close()
    for (const reader of readers) reader.close()
    await channel?.close()
    unlock()
  }
  try {
    const decided = typeof given === 'function' ? await withStanding(paths, given) : { kek: given }
    const { kek, damage, accepted }: Kek = decided
    channel = await openChannel(paths, { onLost, noRoom: room.lacking })
    const events = await openDatabase(paths.events, 'read')
    const views = await openDatabase(paths.views, 'read')
    readers.push(events, views)
    const log = embeddedLog(channel, events)
    await damage?.(log)
    await accepted?.(log)
    const keys = await embeddedKeys(channel, kek, accepted !== undefined)
    const readModels = embeddedViews(channel, { views, events, another: () => openDatabase(paths.views, 'read') })
    const queue = embeddedQueue(channel, events, onError)
    const close = async () => {
      for (const port of [queue, log, readModels, keys]) await port.close()
      await release()
    }
    const binding = embeddedBinding(channel)
    const snapshots = snapshotFile(join(directory, 'memory.snapshot'))
    return { log, views: readModels, snapshots, queue, keys, binding, full: room.full, close }
  } catch (error) {
    await release()
    throw error
  }
}
