import { eventsSchema } from '../schema.ts'
import { type Database, rowsOf } from '../sqlite.ts'

/** A problem of the log: the kind of check, the position or stream, and the result. */
export type Finding = {
  readonly check: 'sqlite' | 'guards' | 'positions' | 'revisions' | 'ids' | 'times' | 'events'
  readonly where: string
  readonly found: string
}
/** Result of the quick check of a log. The counts cover all missing events, including those that `findings` omits. */
export type Look = {
  readonly findings: readonly Finding[]
  readonly positionsMissing: number
  readonly revisionsMissing: number
}

/** Maximum findings of one kind. */
const MOST_FINDINGS = 10
export const NOTHING: Look = { findings: [], positionsMissing: 0, revisionsMissing: 0 }

/**
 * Triggers that reject changes of events, and the unique index of streams: the text after `create … if not exists` by
 * name.
 */
const GUARDS: ReadonlyMap<string, string> = new Map(
  eventsSchema
    .split('\n')
    .flatMap((line) => /^create (?:unique index|trigger) if not exists ((\w+) .*);$/.exec(line) ?? [])
    .flatMap((part, n, parts) => (n % 3 === 2 ? [[part, parts[n - 1]!] as const] : [])),
)

const INDEX = 'events_stream'
/** Possible consequence of each missing trigger or index. */
const WITHOUT: Readonly<Record<string, string>> = {
  events_never_change: 'events may have been changed',
  events_never_go: 'events may have been deleted',
  [INDEX]: 'a revision may have been written twice',
}

/** Triggers and indexes of the log that differ from the schema, each with the difference. */
const wrongGuards = (database: Database): readonly (readonly [name: string, found: string])[] => {
  const texts = rowsOf(database, "select name, sql from sqlite_schema where tbl_name = 'events'").all()
  const existing = new Map(texts as [string, string | null][])
  return [...GUARDS].flatMap(([name, text]) => {
    const found = existing.get(name)
    return found?.endsWith(` ${text}`) ? [] : [[name, found ? 'it was changed' : 'it is missing'] as const]
  })
}

const kindOf = (guard: string): string => (guard === INDEX ? 'index' : 'trigger')

/** Deletes changed triggers, so that the schema creates them again. */
export const dropChanged = (database: Database): void => {
  for (const [name] of wrongGuards(database)) database.exec(`drop ${kindOf(name)} if exists ${name}`)
}

const events = (count: number) => (count === 1 ? '1 event' : `${count} events`)

const positions = (database: Database, head: number): readonly [missing: number, Finding[]] => {
  const counted = rowsOf(database, 'select count(*) from events indexed by events_stream where position <= ?')
  const missing = head - (counted.get(head) as [number])[0]
  if (missing === 0) return [0, []]
  const gaps = rowsOf(
    database,
    `select before, position from (select position, lag(position, 1, 0) over (order by position) as before from events where position <= ?)
     where position <> before + 1 limit ${MOST_FINDINGS}`,
  ).all(head) as [number, number][]
  return [
    missing,
    gaps.map(([before, next]) => ({
      check: 'positions',
      where: before + 2 === next ? `position ${before + 1}` : `positions ${before + 1} to ${next - 1}`,
      found: `${events(next - before - 1)} missing`,
    })),
  ]
}

const revisions = (database: Database, head: number): readonly [missing: number, Finding[]] => {
  const holes = rowsOf(
    database,
    `select stream, max(revision) + 1 - count(*) as missing from events indexed by events_stream where position <= ?
     group by stream having missing <> 0`,
  ).all(head) as [string, number][]
  const findings = holes.slice(0, MOST_FINDINGS).map(
    ([stream, missing]): Finding => ({
      check: 'revisions',
      where: `stream ${stream}`,
      found: `${events(missing)} missing`,
    }),
  )
  return [holes.reduce((sum, [, missing]) => sum + missing, 0), findings]
}

/** Event ids that occur more than once in the log. */
const ids = (database: Database, head: number): readonly Finding[] =>
  (
    rowsOf(
      database,
      `select id, count(*) from events where position <= ? group by id having count(*) > 1 limit ${MOST_FINDINGS}`,
    ).all(head) as [string, number][]
  ).map(([id, count]) => ({ check: 'ids', where: `id ${id}`, found: `${events(count)} have it` }))

const times = (database: Database, head: number): readonly Finding[] =>
  (
    rowsOf(
      database,
      `select position from (select position, time, lag(time) over (order by position) as before from events where position <= ?)
       where time < before limit ${MOST_FINDINGS}`,
    ).all(head) as [number][]
  ).map(([position]) => ({
    check: 'times',
    where: `position ${position}`,
    found: 'its time is earlier than the time of the event before it',
  }))

/** Problems that SQLite's integrity check finds; empty if the file is intact. */
export const sqliteProblems = (database: Database): readonly string[] =>
  (rowsOf(database, `pragma integrity_check(${MOST_FINDINGS})`).all() as [string][])
    .map(([message]) => message)
    .filter((message) => message !== 'ok')

/**
 * Runs SQLite's integrity check and all checks of a log that need no knowledge of its events. The check reads the whole
 * file and changes nothing.
 */
export const checkLog = (database: Database): readonly Finding[] => {
  const own = sqliteProblems(database).map((found): Finding => ({ check: 'sqlite', where: 'the file', found }))
  if (own.length > 0 || !rowsOf(database, IS_THERE).get()) return own
  const head = headOf(database)
  return [...lookAtLog(database).findings, ...ids(database, head), ...times(database, head)]
}

const IS_THERE = "select 1 from sqlite_schema where type = 'table' and name = 'events'"
/**
 * Position of the newest event. A check ends at this position, so that it ignores events that are appended while it
 * runs.
 */
const headOf = (database: Database): number =>
  (rowsOf(database, 'select coalesce(max(position), 0) from events').get() as [number])[0]

/**
 * Quick check of an event log: compares its triggers and its index with those of this program, and counts missing
 * positions and revisions over one index. Changes nothing.
 */
export const lookAtLog = (database: Database): Look => {
  if (!rowsOf(database, IS_THERE).get()) return NOTHING
  const wrong = wrongGuards(database)
  const missing = wrong.map(([name, found]): Finding => {
    return { check: 'guards', where: `${kindOf(name)} ${name}`, found: `${found}, so ${WITHOUT[name]}` }
  })
  // Counting without the index would read the whole log.
  if (wrong.some(([name]) => name === INDEX)) return { ...NOTHING, findings: missing }
  const head = headOf(database)
  const [positionsMissing, gaps] = positions(database, head)
  const [revisionsMissing, holes] = revisions(database, head)
  return { findings: [...missing, ...gaps, ...holes], positionsMissing, revisionsMissing }
}
