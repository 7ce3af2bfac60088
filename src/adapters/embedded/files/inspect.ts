import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fail } from '../../../failure.ts'
import { eventsSchema, ledgerSchema, subjectsSchema, viewsSchema } from '../schema.ts'
import { type Database, damaged, openDatabase } from '../sqlite.ts'
import { isOfView } from '../views/view-schema.ts'
import type { Paths } from '../writer/protocol.ts'
import { schemaProblems } from './schema-differences.ts'

export const LEDGER = 'ledger.sqlite'
/** Schema of each database of a data directory. */
const SCHEMAS: Readonly<Record<string, string>> = {
  'events.sqlite': eventsSchema,
  'subjects.sqlite': subjectsSchema,
  [LEDGER]: ledgerSchema,
  'views.sqlite': viewsSchema,
}

/** Schema of a database of a data directory, which its name identifies. */
export const schemaOf = (file: string): string => SCHEMAS[basename(file)]!

/** Objects of a database that are not of this version. */
export const problemsOf = (database: Database, file: string): readonly string[] =>
  schemaProblems(database, schemaOf(file), basename(file) === 'views.sqlite' ? isOfView : undefined)

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
 * Returns a function that examines the files of an open store, and reports damage to the listeners. A file that cannot
 * be read rejects.
 */
export const inspection =
  ({ events, subjects, views }: Paths, onDamage: (error: Error) => void, onDamagedViews: (error: Error) => void) =>
  async (): Promise<void> => {
    for (const file of [events, subjects, join(dirname(events), LEDGER), views]) {
      const problems = await problemsIn(file)
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
