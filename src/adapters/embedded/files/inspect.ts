import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backgroundSlicer } from '../../../base/event-loop.ts'
import { fail } from '../../../base/failure.ts'
import { eventsSchema, ledgerSchema, subjectsSchema, viewsSchema } from '../schema.ts'
import { type Database, damaged, openDatabase, PAGE_ROWS, rowsOf } from '../sqlite.ts'
import { isOfView } from '../views/view-schema.ts'
import type { Paths } from '../writer/protocol.ts'
import { hiddenEvents, strayEvents } from './look.ts'
import { schemaProblems, valueProblems } from './schema-differences.ts'

const EVENTS = 'events.sqlite'
export const LEDGER = 'ledger.sqlite'
/** Schema of each database of a data directory. */
const SCHEMAS: Readonly<Record<string, string>> = {
  [EVENTS]: eventsSchema,
  'subjects.sqlite': subjectsSchema,
  [LEDGER]: ledgerSchema,
  'views.sqlite': viewsSchema,
}

/** Schema of a database of a data directory, which its name identifies. */
export const schemaOf = (file: string): string => SCHEMAS[basename(file)]!

/**
 * Objects of a database that are not of this version, else values that SQL compares in another way than a driver
 * returns them. Of the events only the index is examined, of the read models no value.
 */
export const problemsOf = (database: Database, file: string): readonly string[] => {
  const isOfViews = basename(file) === 'views.sqlite'
  const objects = schemaProblems(database, schemaOf(file), isOfViews ? isOfView : undefined)
  if (objects.length > 0 || isOfViews) return objects
  if (basename(file) !== EVENTS) return valueProblems(database, schemaOf(file))
  return hiddenEvents(database).map(({ where, found }) => `${where}: ${found}`)
}

/** Objects of a file that are not of this version. A missing file has none. */
export const problemsIn = async (file: string): Promise<readonly string[]> => {
  if (!existsSync(file)) return []
  const database = await openDatabase(file, 'read')
  try {
    return problemsOf(database, file)
  } finally {
    database.close()
  }
}

/**
 * Objects of a log that are not of this version, else the first event that SQL compares in another way than a driver
 * returns it, or that the index does not have. Reads in slices, because the log is in use.
 */
const problemsInLog = async (file: string, signal: AbortSignal): Promise<readonly string[]> => {
  const database = await openDatabase(file, 'read')
  const pause = backgroundSlicer()
  try {
    const objects = schemaProblems(database, schemaOf(file))
    if (objects.length > 0) return objects
    const [head] = rowsOf(database, 'select coalesce(max(position), 0) from events').get() as [number]
    for (let after = 0; after < head; after += PAGE_ROWS) {
      const [stray] = strayEvents(database, after, Math.min(head, after + PAGE_ROWS))
      if (stray) return [`${stray.where}: ${stray.found}`]
      const paused = pause()
      if (paused) await paused
      signal.throwIfAborted()
    }
    return []
  } finally {
    database.close()
  }
}

/**
 * Returns a function that examines the files of an open store, and reports damage to the listeners. A file that cannot
 * be read rejects.
 */
export const inspection =
  ({ events, subjects, views }: Paths, onDamage: (error: Error) => void, onDamagedViews: (error: Error) => void) =>
  async (signal: AbortSignal): Promise<void> => {
    for (const file of [events, subjects, join(dirname(events), LEDGER), views]) {
      const problems = file === events ? await problemsInLog(file, signal) : await problemsIn(file)
      if (problems.length === 0) continue
      const report = file === views ? onDamagedViews : onDamage
      report(damaged(file, new Error(problems.join('; '))))
    }
  }

/** Fails with exit code 3 because a file of a data directory is damaged. */
export const refuseDamaged = (what: string): never =>
  fail(
    'check',
    `${what}.`,
    'List the damage with: rollcall log check. Restore the file from the backup: see docs/guides/operations.md.',
  )
