import { type Database, damage, rowsOf } from '../sqlite.ts'

type SchemaRow = readonly [type: string, name: string, table: string, sql: string | null]

/** Object of a database that differs from the schema of this version. */
export type Difference = {
  readonly type: string
  readonly name: string
  readonly state: 'missing' | 'changed' | 'foreign'
}

const STATES: Readonly<Record<Difference['state'], string>> = {
  missing: 'it is missing',
  changed: 'it was changed',
  foreign: 'it is not part of this version, so it may change what is read or written',
}
/** Maximum problems in a message, and characters of a name in it. */
const [MOST_PROBLEMS, MOST_CHARACTERS] = [10, 64]
/** Types of objects without rows. */
const CODE: readonly string[] = ['trigger', 'index', 'view']

const MADE = /^create ((?:unique )?(table|index|trigger)) if not exists (\w+) ([^]*)$/

/** Objects of a new file with this schema: the table and the text that SQLite stores, by type and name. */
const objectsOf = (schema: string): Map<string, string> =>
  new Map(
    schema
      .trim()
      .replace(/;$/, '')
      .split(';\n')
      .map((statement) => {
        const [, kind, type, name, rest] = MADE.exec(statement) as unknown as readonly string[]
        const table = type === 'table' ? name : / on (\w+)/.exec(` ${rest}`)![1]
        return [`${type} ${name}`, `${table} CREATE ${kind!.toUpperCase()} ${name} ${rest}`]
      }),
  )

/**
 * Compares all objects of a database with a schema, by type, name, table and text. `isOwn` accepts further objects.
 * SQLite itself refuses an index of a constraint that its table does not have.
 */
export const schemaDifferences = (
  database: Database,
  schema: string,
  isOwn: (...object: SchemaRow) => boolean = () => false,
): readonly Difference[] => {
  const expected = objectsOf(schema)
  const objects = rowsOf(database, 'select type, name, tbl_name, sql from sqlite_schema').all() as SchemaRow[]
  const wrong = objects.flatMap(([type, name, table, sql]): Difference[] => {
    if (type === 'index' && sql === null && name.startsWith('sqlite_autoindex_')) return []
    const text = expected.get(`${type} ${name}`)
    expected.delete(`${type} ${name}`)
    if (text === undefined) return isOwn(type, name, table, sql) ? [] : [{ type, name, state: 'foreign' }]
    return text === `${table} ${sql}` ? [] : [{ type, name, state: 'changed' }]
  })
  const missing = [...expected.keys()].map((key): Difference => {
    const [type, name] = key.split(' ') as [string, string]
    return { type, name, state: 'missing' }
  })
  const [encoding] = rowsOf(database, 'pragma encoding').get() as [string]
  if (encoding !== 'UTF-8') wrong.push({ type: 'encoding', name: encoding, state: 'foreign' })
  return [...missing, ...wrong]
}

/** Place and state of a difference, for a message. */
export const differenceText = ({ type, name, state }: Difference): readonly [where: string, found: string] => [
  `${type} ${name.slice(0, MOST_CHARACTERS)}`,
  STATES[state],
]

/** Changed and foreign objects of a database, one text for each. Missing ones are created by the writer of the file. */
export const schemaProblems = (...of: Parameters<typeof schemaDifferences>): readonly string[] =>
  schemaDifferences(...of)
    .filter(({ state }) => state !== 'missing')
    .slice(0, MOST_PROBLEMS)
    .map((one) => differenceText(one).join(': '))

/** SQL condition for a value that is not of the type of its column, or is a text with U+0000. */
export const isWrong = (column: string, type: string): string =>
  `typeof(${column}) not in ('${type}', 'null')${type === 'text' ? ` or instr(${column}, char(0)) > 0` : ''}`

/** Tables of a schema with values that SQL compares in another way than a driver returns them, one text for each. */
export const valueProblems = (database: Database, schema: string): readonly string[] =>
  [...objectsOf(schema).keys()].flatMap((key) => {
    const [type, table] = key.split(' ') as [string, string]
    const columns = rowsOf(database, 'select name, lower(type) from pragma_table_info(?)').all(table)
    const wrong = (columns as [string, string][]).map((column) => isWrong(...column))
    if (type !== 'table' || wrong.length === 0) return []
    const found = rowsOf(database, `select 1 from ${table} where ${wrong.join(' or ')} limit 1`).get()
    return found ? [`table ${table}: a value has U+0000, or is not stored in the type of its column`] : []
  })

/** Throws the error of a damaged file if a database has a changed or a foreign object. */
export const insistOnSchema = (...of: Parameters<typeof schemaDifferences>): void => {
  const problems = schemaProblems(...of)
  if (problems.length > 0) throw damage(problems.join('; '))
}

/**
 * Removes changed and foreign triggers, indexes and views, then creates the missing objects. Throws if a table is
 * changed or foreign; then nothing is removed.
 */
export const restoreSchema = (database: Database, schema: string): void => {
  const wrong = schemaDifferences(database, schema).filter(({ state }) => state !== 'missing')
  if (wrong.every(({ type }) => CODE.includes(type)))
    for (const { type, name } of wrong) database.exec(`drop ${type} if exists "${name.replaceAll('"', '""')}"`)
  database.exec(schema)
  insistOnSchema(database, schema)
}
