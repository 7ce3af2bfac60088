import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backgroundSlicer } from '../../../base/event-loop.ts'
import { fail } from '../../../base/failure.ts'
import {
  type Difference,
  differenceText,
  eventsSchema,
  isWrong,
  ledgerSchema,
  schemaDifferences,
  schemaProblems,
  subjectsSchema,
  valueProblems,
  viewsSchema,
} from '../schema.ts'
import { type Database, damaged, hasTable, PAGE_ROWS, rowsOf, withDatabase } from '../sqlite.ts'
import { isOfView } from '../views/view-build.ts'
import type { Paths } from '../writer/protocol.ts'

/** A problem of the log: the kind of check, the position or stream, and the result. */
export type Finding = {
  readonly check: 'sqlite' | 'schema' | 'guards' | 'positions' | 'revisions' | 'ids' | 'times' | 'texts' | 'events'
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

const INDEX = 'events_stream'
/** Possible consequence of each missing trigger or index. */
const WITHOUT: Readonly<Record<string, string>> = {
  events_never_change: 'events may have been changed',
  events_never_go: 'events may have been deleted',
  [INDEX]: 'a revision may have been written twice',
}

/** Differences of the schema of a log. Only the objects of `WITHOUT` must exist; the start creates the others. */
const wrongObjects = (database: Database): readonly Difference[] => {
  const all = schemaDifferences(database, eventsSchema)
  const isEmpty = all.some(({ name, state }) => name === 'events' && state === 'missing')
  return all.filter(({ name, state }) => state !== 'missing' || (!isEmpty && name in WITHOUT))
}

const objectFinding = (difference: Difference): Finding => {
  const [where, found] = differenceText(difference)
  const isGuard = difference.name in WITHOUT && difference.state !== 'foreign'
  return isGuard
    ? { check: 'guards', where, found: `${found}, so ${WITHOUT[difference.name]}` }
    : { check: 'schema', where, found }
}

const events = (count: number) => (count === 1 ? '1 event' : `${count} events`)

/** The index has another number of entries than the table has events. */
const INCOMPLETE: Finding = {
  check: 'guards',
  where: `index ${INDEX}`,
  found: `it does not have one entry for each event, so ${WITHOUT[INDEX]}`,
}

const positions = (database: Database, head: number): readonly [missing: number, Finding[]] => {
  const counted = rowsOf(database, 'select count(*) from events indexed by events_stream where position <= ?')
  const missing = head - (counted.get(head) as [number])[0]
  if (missing === 0) return [0, []]
  const gaps = rowsOf(
    database,
    `select before, position from (select position, lag(position, 1, 0) over (order by position) as before from events where position <= ?)
     where position <> before + 1 limit ${MOST_FINDINGS}`,
  ).all(head) as [number, number][]
  const found = gaps.map(
    ([before, next]): Finding => ({
      check: 'positions',
      where: before + 2 === next ? `position ${before + 1}` : `positions ${before + 1} to ${next - 1}`,
      found: `${events(next - before - 1)} missing`,
    }),
  )
  const inTable = gaps.reduce((sum, [before, next]) => sum + next - before - 1, 0)
  return [missing, gaps.length < MOST_FINDINGS && inTable !== missing ? [...found, INCOMPLETE] : found]
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

const textFindings = (rows: unknown[]): readonly Finding[] =>
  (rows as [number][]).map(([position]) => ({ check: 'texts', where: `position ${position}`, found: NOT_WHOLE }))
const HAS_INDEX = `select 1 from sqlite_schema where type = 'index' and name = '${INDEX}'`
const NOT_WHOLE = 'a value has U+0000, is not stored in the type of its column, or is missing in the index'

/**
 * Streams and revisions in the index that no read of their stream finds, because SQL compares them in another way than a
 * driver returns them.
 */
const hiddenEvents = (database: Database): readonly Finding[] => {
  if (!rowsOf(database, HAS_INDEX).get()) return []
  return textFindings(
    rowsOf(
      database,
      `select position from events indexed by events_stream
       where ${isWrong('stream', 'text')} or ${isWrong('revision', 'integer')} limit ${MOST_FINDINGS}`,
    ).all(),
  )
}

/**
 * Events after one position up to another with a value that SQL compares in another way than a driver returns it, or
 * that the index does not have.
 */
const strayEvents = (database: Database, after: number, to: number): readonly Finding[] =>
  textFindings(
    rowsOf(
      database,
      `select position from events e where position > ? and position <= ? and (${isWrong('revision', 'integer')}
       or ${['stream', 'id', 'type', 'time', 'data', 'meta'].map((column) => isWrong(column, 'text')).join(' or ')}
       or not exists (select 1 from events i indexed by events_stream
         where i.stream = e.stream and i.revision = e.revision and i.position = e.position)) limit ${MOST_FINDINGS}`,
    ).all(after, to),
  )

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
  if (own.length > 0) return own
  const { findings } = lookAtLog(database)
  if (!hasTable(database, 'events') || findings.some(({ check }) => check === 'schema')) return findings
  const head = headOf(database)
  const stray = findings.some(({ check }) => check === 'guards' || check === 'texts')
    ? []
    : strayEvents(database, 0, head)
  return [...findings, ...stray, ...ids(database, head), ...times(database, head)]
}

/**
 * Position of the newest event. A check ends at this position, so that it ignores events that are appended while it
 * runs.
 */
const headOf = (database: Database): number =>
  (rowsOf(database, 'select coalesce(max(position), 0) from events').get() as [number])[0]

/**
 * Quick check of an event log: compares all objects of its schema with those of this program, and counts missing
 * positions and revisions over one index. Changes nothing.
 */
export const lookAtLog = (database: Database): Look => {
  const wrong = wrongObjects(database)
  const objects = wrong.map(objectFinding)
  // Counting without the index would read the whole log.
  if (!hasTable(database, 'events') || wrong.some(({ name }) => name === INDEX))
    return { ...NOTHING, findings: objects }
  const head = headOf(database)
  const [positionsMissing, gaps] = positions(database, head)
  const [revisionsMissing, holes] = revisions(database, head)
  return { findings: [...objects, ...gaps, ...holes, ...hiddenEvents(database)], positionsMissing, revisionsMissing }
}

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

/** Fails with exit code 3 if an open file of a data directory has content that is not of this version. */
export const insistOnSound = (database: Database, file: string): void => {
  const [problem] = problemsOf(database, file)
  if (problem !== undefined) refuseDamaged(`${file}: ${problem}`)
}

/** Objects of a file that are not of this version. A missing file has none. */
export const problemsIn = async (file: string): Promise<readonly string[]> => {
  return existsSync(file) ? withDatabase(file, 'read', (database) => problemsOf(database, file)) : []
}

/**
 * Objects of a log that are not of this version, else the first event that SQL compares in another way than a driver
 * returns it, or that the index does not have. Reads in slices, because the log is in use.
 */
const problemsInLog = (file: string, signal: AbortSignal): Promise<readonly string[]> =>
  withDatabase(file, 'read', async (database) => {
    const pause = backgroundSlicer()
    const objects = schemaProblems(database, schemaOf(file))
    if (objects.length > 0) return objects
    const head = headOf(database)
    for (let after = 0; after < head; after += PAGE_ROWS) {
      const [stray] = strayEvents(database, after, Math.min(head, after + PAGE_ROWS))
      if (stray) return [`${stray.where}: ${stray.found}`]
      const paused = pause()
      if (paused) await paused
      signal.throwIfAborted()
    }
    return []
  })

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
