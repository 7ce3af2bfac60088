import { messageOf } from '../../../base/errors.ts'
import { problemsOf, schemaOf } from '../files/inspect.ts'
import { sqliteProblems } from '../files/look.ts'
import { valueProblems } from '../files/schema-differences.ts'
import { openDatabase } from '../sqlite.ts'

/**
 * Problems that SQLite's own check finds in a database, of which it reads the whole file, and objects and values
 * that are not of this version; empty if it is intact.
 */
export const problemsOfCopy = async (file: string): Promise<readonly string[]> => {
  try {
    const database = await openDatabase(file, 'read')
    try {
      const problems = [...sqliteProblems(database), ...problemsOf(database, file)]
      return problems.length > 0 ? problems : valueProblems(database, schemaOf(file))
    } finally {
      database.close()
    }
  } catch (error) {
    return [messageOf(error)]
  }
}
