import { eventsSchema, restoreSchema } from '../schema.ts'
import { type Database, damage, rowsOf, type Statement, type Value } from '../sqlite.ts'
import type { AppendReply, Calls } from './protocol.ts'

const FIELDS = 5
const TIME = 2
const PURGE_EVERY = 256

type Writes = ReturnType<typeof countedWrites>
type Last = { position: number; time: string }

/**
 * Counts the rows that statements write. `insist` throws the error of a damaged file if SQLite counts other rows since
 * the last call, because a trigger wrote or prevented one.
 */
const countedWrites = (database: Database) => {
  const total = rowsOf(database, 'select total_changes()')
  const present = () => (total.get() as [number])[0]
  let due = present()
  return {
    counted: (statement: Statement): Statement['run'] => {
      return (...values) => {
        const result = statement.run(...values)
        due += Number(result.changes)
        return result
      }
    },
    insist: (): void => {
      if (present() !== due) throw damage('a trigger that is not of this version changed what was written')
    },
    /** Forgets the writes of a transaction that was rolled back. */
    reset: () => void (due = present()),
  }
}

/** Inserts an event and reads it back. Throws the error of a damaged file if another row is stored. */
const eventWriter = (database: Database, { counted }: Writes) => {
  const insert = counted(
    database.prepare(
      'insert into events (position, stream, revision, id, type, time, data, meta) values (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
  )
  const same = rowsOf(
    database,
    'select 1 from events where position = ? and stream = ? and revision = ? and id = ? and type = ? and time = ? and data = ? and meta = ?',
  )
  return (...row: readonly Value[]): void => {
    if (insert(...row).changes !== 1 || !same.get(...row)) throw damage('an event is not stored as it was written')
  }
}

/** Replaces records by compare and swap, and purges expired ones from time to time. */
const recordWriter = (database: Database, { counted }: Writes): Calls['swapRecord'] => {
  const present = rowsOf(database, 'select revision from records where kind = ? and key = ? and until > ?')
  const keep = counted(
    database.prepare('insert or replace into records (kind, key, revision, value, until) values (?, ?, ?, ?, ?)'),
  )
  const purge = counted(
    database.prepare(
      'delete from records where (kind, key) in (select kind, key from records where until <= ? limit 1000)',
    ),
  )
  let swaps = 0
  return (kind, key, expected, value, until, now) => {
    const [revision = 0] = (present.get(kind, key, now) ?? []) as [number?]
    if (revision !== expected) return false
    if (++swaps % PURGE_EVERY === 0) purge(now)
    keep(kind, key, revision + 1, value, until)
    return true
  }
}

/**
 * Part of the writer thread that writes the event log. The function runs inside the transaction of its group of
 * requests; call `insist` before a commit, `reset` after a rollback. Times never decrease, unless `keepsTimes` is set.
 */
export const logWriter = (database: Database, keepsTimes = false) => {
  restoreSchema(database, eventsSchema)
  // After a failed sync, an earlier process may have left pages in the cache that are not on disk. A checkpoint of the
  // write-ahead log writes these pages again.
  database.exec('pragma wal_checkpoint(truncate)')

  const writes = countedWrites(database)
  const insert = eventWriter(database, writes)
  const latest = rowsOf(database, 'select revision from events where stream = ? order by revision desc limit 1')
  const behind = rowsOf(
    database,
    'select position, id, time from events where stream = ? and revision > ? order by revision limit ?',
  )
  const newest = rowsOf(database, 'select position, time from events order by position desc limit 1')
  const ran = writes.counted(
    database.prepare('insert or replace into runs (name, started, finished, error) values (?, ?, ?, ?)'),
  )

  const find = (): Last => {
    const [position = 0, time = ''] = (newest.get() ?? []) as [number?, string?]
    return { position, time }
  }
  let last = find()

  const reply = (
    revision: number,
    positions: readonly number[],
    times: readonly string[],
    events: readonly string[],
  ): AppendReply =>
    times.every((time, n) => time === events[n * FIELDS + TIME])
      ? { revision, positions }
      : { revision, positions, times }

  /** Result of the first append, if exactly these events already follow `expected`; otherwise `conflict`. */
  const repeated = (stream: string, expected: number, events: readonly string[]): AppendReply => {
    const count = events.length / FIELDS
    const found = behind.all(stream, expected, count) as [position: number, id: string, time: string][]
    if (found.length < count || found.some(([, id], n) => id !== events[n * FIELDS])) return 'conflict'
    const positions = found.map(([position]) => position)
    return reply(
      expected + count,
      positions,
      found.map(([, , time]) => time),
      events,
    )
  }

  const append: Calls['append'] = (stream, expected, events) => {
    const [revision = -1] = (latest.get(stream) ?? []) as [number?]
    if (revision !== expected) return revision > expected ? repeated(stream, expected, events) : 'conflict'
    const positions: number[] = []
    const times: string[] = []
    for (let n = 0; n < events.length; n += FIELDS) {
      const [id, type, time, data, meta] = events.slice(n, n + FIELDS) as [string, string, string, string, string]
      last = { position: last.position + 1, time: keepsTimes || time > last.time ? time : last.time }
      positions.push(last.position)
      times.push(last.time)
      insert(last.position, stream, expected + positions.length, id, type, last.time, data, meta)
    }
    return reply(expected + positions.length, positions, times, events)
  }

  return {
    ops: {
      append,
      swapRecord: recordWriter(database, writes),
      ran: (...run: Parameters<Calls['ran']>) => void ran(...run),
    },
    /** Throws the error of a damaged file unless the present transaction wrote exactly the rows of its requests. */
    insist: writes.insist,
    reset: () => {
      last = find()
      writes.reset()
    },
  }
}
