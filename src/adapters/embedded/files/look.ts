import { eventsSchema } from '../schema.ts'
import { type Database, rowsOf } from '../sqlite.ts'

/** Something that is not as this service leaves it: what kind, where, and what was found there. */
export type Finding = {
  readonly check: 'sqlite' | 'guards' | 'positions' | 'revisions' | 'ids' | 'times' | 'events'
  readonly where: string
  readonly found: string
}
/** What a look at a log found. The numbers say how much is missing, whatever is told of it. */
export type Look = {
  readonly findings: readonly Finding[]
  readonly positionsMissing: number
  readonly revisionsMissing: number
}

/** Of one kind that many are told one by one. */
const TOLD = 10
export const NOTHING: Look = { findings: [], positionsMissing: 0, revisionsMissing: 0 }

/** What keeps events from being changed, and the index that holds streams together: by name the text behind `create … if not exists`. */
const GUARDS: ReadonlyMap<string, string> = new Map(
  eventsSchema
    .split('\n')
    .flatMap((line) => /^create (?:unique index|trigger) if not exists ((\w+) .*);$/.exec(line) ?? [])
    .flatMap((part, n, parts) => (n % 3 === 2 ? [[part, parts[n - 1]!] as const] : [])),
)

const INDEX = 'events_stream'
/** What could have happened to the events without each guard. */
const WITHOUT: Readonly<Record<string, string>> = {
  events_never_change: 'events could be changed meanwhile',
  events_never_go: 'events could be deleted meanwhile',
  [INDEX]: 'a revision could be written twice meanwhile',
}

/** The guards that are not as the schema makes them, by name. */
const wrongGuards = (database: Database): readonly (readonly [name: string, found: string])[] => {
  const texts = rowsOf(database, "select name, sql from sqlite_schema where tbl_name = 'events'").all()
  const there = new Map(texts as [string, string | null][])
  return [...GUARDS].flatMap(([name, text]) => {
    const found = there.get(name)
    return found?.endsWith(` ${text}`) ? [] : [[name, found ? 'it was changed' : 'it was taken away'] as const]
  })
}

const kindOf = (guard: string): string => (guard === INDEX ? 'index' : 'trigger')

/** Takes away guards that were changed, so that the schema makes them anew. */
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
     where position <> before + 1 limit ${TOLD}`,
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
  const findings = holes.slice(0, TOLD).map(
    ([stream, missing]): Finding => ({
      check: 'revisions',
      where: `stream ${stream}`,
      found: `${events(missing)} missing`,
    }),
  )
  return [holes.reduce((sum, [, missing]) => sum + missing, 0), findings]
}

/** Ids that more than one event has. */
const ids = (database: Database, head: number): readonly Finding[] =>
  (
    rowsOf(
      database,
      `select id, count(*) from events where position <= ? group by id having count(*) > 1 limit ${TOLD}`,
    ).all(head) as [string, number][]
  ).map(([id, count]) => ({ check: 'ids', where: `id ${id}`, found: `${events(count)} have it` }))

const times = (database: Database, head: number): readonly Finding[] =>
  (
    rowsOf(
      database,
      `select position from (select position, time, lag(time) over (order by position) as before from events where position <= ?)
       where time < before limit ${TOLD}`,
    ).all(head) as [number][]
  ).map(([position]) => ({
    check: 'times',
    where: `position ${position}`,
    found: 'it is older than the event before it',
  }))

/** SQLite's own check of the whole file, and all that can be seen of a log without knowing its events. Reads everything; changes nothing. */
export const checkLog = (database: Database): readonly Finding[] => {
  const own = (rowsOf(database, `pragma integrity_check(${TOLD})`).all() as [string][])
    .filter(([said]) => said !== 'ok')
    .map(([said]): Finding => ({ check: 'sqlite', where: 'the file', found: said }))
  if (own.length > 0 || !rowsOf(database, IS_THERE).get()) return own
  const head = headOf(database)
  return [...lookAtLog(database).findings, ...ids(database, head), ...times(database, head)]
}

const IS_THERE = "select 1 from sqlite_schema where type = 'table' and name = 'events'"
/** The newest event there is; those that are written during a look are none of its business. */
export const headOf = (database: Database): number =>
  (rowsOf(database, 'select coalesce(max(position), 0) from events').get() as [number])[0]

/** What is cheap to see of a log: its guards, and holes in positions and streams, counted over one index. Changes nothing. */
export const lookAtLog = (database: Database): Look => {
  if (!rowsOf(database, IS_THERE).get()) return NOTHING
  const wrong = wrongGuards(database)
  const missing = wrong.map(([name, found]): Finding => {
    return { check: 'guards', where: `${kindOf(name)} ${name}`, found: `${found}, so ${WITHOUT[name]}` }
  })
  // Without its index counting would read the whole log.
  if (wrong.some(([name]) => name === INDEX)) return { ...NOTHING, findings: missing }
  const head = headOf(database)
  const [positionsMissing, gaps] = positions(database, head)
  const [revisionsMissing, holes] = revisions(database, head)
  return { findings: [...missing, ...gaps, ...holes], positionsMissing, revisionsMissing }
}
