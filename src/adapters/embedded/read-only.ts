import type { Clock } from '../../base/clock.ts'
import type { EventLog, ReadParts } from '../../events/log.ts'
import type { FindLeast, Views } from '../../projections/views.ts'
import { closed } from './files/standing.ts'
import { embeddedLog } from './log.ts'
import { type Database, openDatabase } from './sqlite.ts'
import { leastFinder, partsReader } from './views/read-together.ts'
import type { ViewsFile } from './views/renewable-views.ts'
import { embeddedViews } from './views/views.ts'
import type { Paths } from './writer/protocol.ts'

/** Access of another thread to the files of an open store. */
export type Files = {
  readonly paths: Pick<Paths, 'events' | 'views'>
  readonly flushed: () => Promise<void>
  readonly onDamage: (file: string, error: Error, era: number) => void
  /** The current file of the read models. */
  readonly views: ViewsFile
}

type ReadOnly = {
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'head'>
  readonly views: Pick<Views, 'list' | 'values' | 'getMany' | 'checkpoint' | 'scan'>
  readonly together: { readonly parts: ReadParts; readonly least: FindLeast }
  readonly close: () => void
}

/**
 * Opens the log and the read models of a store that this process has open, on read-only connections of their own. Sees
 * only rows that are written to the files.
 */
export const openReadOnly = async (
  { events, views }: Files['paths'],
  clock: Clock,
  onDamage: (file: string, error: Error) => void,
): Promise<ReadOnly> => {
  const ofFile = (file: string) => ({ file, onDamage: (error: Error) => onDamage(file, error) })
  const opened: Database[] = []
  const close = (): void => {
    for (const database of opened) database.close()
  }
  const open = async (file: string): Promise<Database> => {
    const database = await openDatabase(file, 'read')
    opened.push(database)
    return database
  }
  try {
    const readers = { events: await open(events), views: await open(views), another: () => openDatabase(views, 'read') }
    const watched = { events: ofFile(events), views: ofFile(views) }
    const log = embeddedLog(closed, readers.events, watched.events)
    const together = {
      parts: partsReader(readers.events, watched.events),
      least: leastFinder(readers.views, watched.views),
    }
    return { log, views: embeddedViews(closed, { clock, ...readers, watched }), together, close }
  } catch (error) {
    close()
    throw error
  }
}
