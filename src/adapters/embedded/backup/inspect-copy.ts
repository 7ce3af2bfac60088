import { messageOf } from '../../../errors.ts'
import { sqliteProblems } from '../files/look.ts'
import { openDatabase } from '../sqlite.ts'

/** Problems that SQLite's own check finds in a database, of which it reads the whole file; empty if it is intact. */
export const problemsIn = async (file: string): Promise<readonly string[]> => {
  try {
    const database = await openDatabase(file, 'read')
    try {
      return sqliteProblems(database)
    } finally {
      database.close()
    }
  } catch (error) {
    return [messageOf(error)]
  }
}
