import { timeSlicer } from '../../../base/event-loop.ts'
import { schemaOf } from '../files/inspect.ts'
import { type Database, openDatabase, rowsOf, type Value } from '../sqlite.ts'
import { openCopy } from './copy-database.ts'
import { syncFile } from './copy-file.ts'

const namesIn = (database: Database, query: string, ...values: readonly string[]): readonly string[] =>
  (rowsOf(database, query).all(...values) as [string][]).map(([name]) => name)
const TABLES = "select name from sqlite_schema where type = 'table'"

/**
 * Reads the rows of a table one by one. The packaged driver frees a statement that nothing refers to, also while it
 * returns rows, so the statement is in use until the end.
 */
function* rowsIn(source: Database, table: string, columns: readonly string[]): Generator<readonly Value[]> {
  const statement = rowsOf(source, `select ${columns.join(', ')} from ${table}`)
  try {
    yield* statement.iterate() as Iterable<readonly Value[]>
  } finally {
    statement.setReturnArrays(true)
  }
}

/**
 * Writes the rows of a database, which no process changes, durably into a new file with the schema of this version. The
 * new file has no other content of the database. `onRows` receives the number of written rows.
 */
export const rewriteDatabase = async (from: string, to: string, onRows: (rows: number) => void): Promise<void> => {
  const [source, target] = [await openDatabase(from, 'read'), await openCopy(to)]
  const pause = timeSlicer()
  let written = 0
  try {
    target.exec(schemaOf(to))
    const present = new Set(namesIn(source, TABLES))
    target.exec('begin')
    for (const table of namesIn(target, TABLES).filter((name) => present.has(name))) {
      const columns = namesIn(target, 'select name from pragma_table_info(?)', table)
      const insert = target.prepare(
        `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
      )
      for (const row of rowsIn(source, table, columns)) {
        insert.run(...row)
        written++
        const paused = pause()
        if (!paused) continue
        await paused
        onRows(written)
      }
    }
    target.exec('commit')
  } finally {
    source.close()
    target.close()
  }
  await syncFile(to)
}
