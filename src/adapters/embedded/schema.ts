import { type Database, damage, rowsOf } from './sqlite.ts'

/**
 * events.sqlite, for analysts. `events` is the log with one row per event; triggers reject updates and deletes.
 * `position` orders all events, `revision` the events of a stream.
 * `time` is RFC 3339 UTC text; `data` and `meta` are JSON texts (`data ->> 'id'` reads a field). `records` holds cached
 * answers until `until` (epoch ms); `runs` holds the last run of each job (epoch ms).
 */
export const eventsSchema = `
create table if not exists events (
  position integer primary key,
  stream   text    not null,
  revision integer not null,
  id       text    not null,
  type     text    not null,
  time     text    not null,
  data     text    not null,
  meta     text    not null
) strict;
create unique index if not exists events_stream on events (stream, revision);
create trigger if not exists events_never_change before update on events begin select raise(abort, 'events are never changed'); end;
create trigger if not exists events_never_go before delete on events begin select raise(abort, 'events are never deleted'); end;
create table if not exists records (
  kind     text    not null,
  key      text    not null,
  revision integer not null,
  value    text    not null,
  until    integer not null,
  primary key (kind, key)
) strict, without rowid;
create index if not exists records_until on records (until);
create table if not exists runs (
  name     text    not null primary key,
  started  integer not null,
  finished integer,
  error    text
) strict;
`

/**
 * views.sqlite, for analysts: one table per view and version, for example `tokens_1`. `views` holds the checkpoint of
 * each view and the position of its newest row. `_doc` is the document as JSON text. The column is null for a tombstone
 * and for a document that is unreadable because of the event in `_unreadable`. The columns without an underscore are
 * the searchable fields. Everything in the file can be rebuilt from events.sqlite: deleting it costs a rebuild at the
 * next start. A column added later needs a default, because earlier versions write the checkpoints of their views
 * without it.
 */
export const viewsSchema = `
create table if not exists views (
  name     text    not null primary key,
  position integer not null,
  event    text    not null,
  log      text    not null,
  events   integer not null,
  rows     integer not null,
  changes  integer not null default 0,
  newest   integer not null
) strict, without rowid;
`

/**
 * subjects.sqlite: the wrapped key of each subject; a null key marks an erased subject. `lost_subjects` holds keys that
 * an operator gave up (`serve --accept-lost-keys`): they open only with the lost key file. `binding` is the first event
 * of the log that the keys belong to.
 */
export const subjectsSchema = `
create table if not exists subjects (
  subject text not null primary key,
  key     blob
) strict;
create table if not exists lost_subjects (
  subject text not null,
  key     blob not null
) strict;
create table if not exists binding (
  only     integer not null primary key check (only = 1),
  event    text    not null,
  position integer not null
) strict;
`

/**
 * ledger.sqlite: `tiles` holds the full tiles of the tree, which the log can replace. `sealed` holds the newest
 * checkpoint, which nothing can replace: back it up with the signing key. `checkpoints` holds earlier checkpoints.
 */
export const ledgerSchema = `
create table if not exists tiles (
  level    integer not null,
  n        integer not null,
  root     blob    not null,
  position integer not null,
  event    text    not null,
  mac      blob    not null,
  hashes   blob    not null,
  primary key (level, n)
) strict;
create table if not exists sealed (
  only   integer not null primary key check (only = 1),
  record text    not null
) strict;
create table if not exists checkpoints (
  size   integer not null primary key,
  root   text    not null,
  text   text    not null,
  at     text    not null,
  keep   integer not null
) strict;
create table if not exists scrubs (
  only   integer not null primary key check (only = 1),
  result text    not null
) strict;
`

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
