import { setImmediate } from 'node:timers/promises'
import { refuse } from '../../base/errors.ts'
import type { EventLog, NewEvent, Stored } from '../../events/log.ts'
import { type Database, damage, isBroken, isDamage, isPage, PAGE_ROWS, pageOf, rowsOf, whileOpen } from './sqlite.ts'
import type { Channel } from './writer/channel.ts'

const HEAD = ['id', 'time', 'type', 'stream'] as const
/**
 * Columns of an event. The short texts are joined by U+001F, which ids, times, types and streams never contain, because
 * creating strings dominates the cost of reading. The last column is the number of stored bytes of all texts.
 */
export const eventColumns = (of = ''): string =>
  `${of}revision, ${HEAD.map((name) => of + name).join(' || char(31) || ')}, ${of}data, ${of}meta,
   ${[...HEAD, 'data', 'meta'].map((name) => `octet_length(${of}${name})`).join(' + ')}`
const COLUMNS = eventColumns()
const PART = '\x1f'
const SEPARATORS = HEAD.length - 1
const BETWEEN = 'position > ? and position <= ?'
const IN_STREAM = 'stream = ? and revision >= ? and +position <= ? order by revision limit ?'
const MOST = BigInt(Number.MAX_SAFE_INTEGER)

type Raw = [revision: number, head: string, data: string, meta: string, bytes: number]
/** Columns of an event and its position. */
export type Placed = [...Raw, position: number]
type Page = { readonly page: readonly Stored[]; readonly more: boolean }

/**
 * Throws the error of a damaged file unless the texts of an event are all of its stored bytes. One driver ends a text at
 * its first U+0000, the other returns all of it, but SQL always compares all of it.
 */
const insistOnWhole = ([, head, data, meta, bytes]: Raw | Placed, position: number): void => {
  const isText = typeof head === 'string' && typeof data === 'string' && typeof meta === 'string'
  const isWhole =
    isText &&
    (head.length + data.length + meta.length === bytes + SEPARATORS ||
      Buffer.byteLength(head) + Buffer.byteLength(data) + Buffer.byteLength(meta) === bytes + SEPARATORS) &&
    !(head.includes('\0') || data.includes('\0') || meta.includes('\0'))
  if (!isWhole) throw damage(`position ${position}: a text of the event has U+0000, or is not stored as UTF-8 text`)
}

/** Converts a row of columns into an event. Throws the error of a damaged file for texts that are not whole. */
export const stored = (row: Raw | Placed, position: number): Stored => {
  insistOnWhole(row, position)
  const [revision, head, data, meta] = row
  const time = head.indexOf(PART) + 1
  const type = head.indexOf(PART, time) + 1
  const stream = head.indexOf(PART, type) + 1
  return {
    id: head.slice(0, time - 1),
    type: head.slice(type, stream - 1),
    time: head.slice(time, type - 1),
    data,
    meta,
    stream: head.slice(stream),
    revision: BigInt(revision),
    position: BigInt(position),
  }
}

const flat = (events: readonly NewEvent[]): string[] => {
  const texts: string[] = []
  for (const { id, type, time, data, meta } of events) texts.push(id, type, time, data, meta)
  if (texts.some((text) => text.includes('\0'))) throw new Error('a text of an event has U+0000')
  return texts
}

/** Suspends readers that follow the log until the next append. */
const sleepers = () => {
  const asleep = new Set<() => void>()
  return {
    /** Sleeps until the next `wake`, or until the signal aborts. */
    sleep: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const go = () => {
          asleep.delete(go)
          signal.removeEventListener('abort', go)
          resolve()
        }
        asleep.add(go)
        signal.addEventListener('abort', go)
      }),
    wake: (): void => {
      for (const go of asleep) go()
    },
  }
}

/** Returns true for an I/O error or damage of the log file. */
export const isAtFault = (error: unknown) => isBroken(error) || isDamage(error)

/** Path of the log file and the listener for its damage. */
export type LogFile = { readonly file: string; readonly onDamage: (error: Error) => void }

/** Queries of the log file. */
const queriesOf = (reader: Database) => {
  const from = (columns: string, where: string) => rowsOf(reader, `select ${columns} from events where ${where}`)
  return {
    ofStream: from(`${COLUMNS}, position`, IN_STREAM),
    ofAll: from(`${COLUMNS}, position`, `${BETWEEN} order by position`),
    unplaced: from(COLUMNS, `${BETWEEN} order by position`),
    extent: from('count(*), total(octet_length(data) + octet_length(meta))', BETWEEN),
    newest: rowsOf(reader, 'select max(position) from events'),
    oneAt: from(`${COLUMNS}, position`, 'position = ?'),
    oldest: from(`${COLUMNS}, position`, 'position > ? order by position limit 1'),
  }
}

/**
 * Event log in a SQLite file. The writer thread appends; reads use a separate connection. Positions are 1, 2, 3 …; the
 * time of an event is never earlier than the time of the event before it.
 */
export const embeddedLog = (channel: Channel, reader: Database, { file, onDamage }: LogFile): EventLog => {
  const { ofStream, ofAll, unplaced, extent, newest, oneAt, oldest } = queriesOf(reader)
  const followers = sleepers()
  let open = true

  const reading = whileOpen(() => open, { file, isDamage: isAtFault, onDamage })
  const pageFrom = (...query: Parameters<typeof pageOf>): Page =>
    reading(() => {
      const { rows, more } = pageOf(...query)
      return { page: (rows as Placed[]).map((row) => stored(row, row[5])), more }
    })
  const head = (): bigint => reading(() => BigInt((newest.get() as [number | null])[0] ?? 0))

  /**
   * Page of a read of many events. SQLite counts rows and lengths without reading texts; a range that is small and has
   * no gaps is faster to read with `all`.
   */
  const pageOfMany = (after: number, to: number): Page => {
    const end = Math.min(to, after + PAGE_ROWS)
    const [count, size] = reading(() => extent.get(after, end) as [number, number])
    if (after + count !== end || isPage(0, size)) return pageFrom(ofAll, after, to)
    const read = () => (unplaced.all(after, end) as Raw[]).map((row, n) => stored(row, after + n + 1))
    return { page: reading(read), more: end < to }
  }

  async function* readAll(after: bigint, to = head()): AsyncGenerator<readonly Stored[]> {
    for (let at = after; at < to; ) {
      const { page, more } = pageOfMany(Number(at), Number(to))
      const last = page.at(-1)
      if (!last) return
      yield page
      at = last.position
      if (!more) return
      await setImmediate()
    }
  }

  return {
    append: async (stream, events, expected) => {
      if (events.length === 0) throw new Error(`no event was given to append to ${stream}`)
      const reply = await channel.call('append', stream, expected === 'none' ? -1 : Number(expected), flat(events))
      if (reply === 'conflict') return refuse('write_conflict')
      followers.wake()
      const { revision, positions, times } = reply
      return { revision: BigInt(revision), positions: positions.map(BigInt), ...(times && { times }) }
    },
    read: async function* (stream, from = 0n, most = Number.MAX_SAFE_INTEGER, upTo = MOST) {
      for (let [next, left] = [from, most]; left > 0; ) {
        const { page, more } = pageFrom(ofStream, stream, Number(next), Number(upTo), left)
        if (page.length > 0) yield page
        if (!more) return
        next = page.at(-1)!.revision + 1n
        left -= page.length
        await setImmediate()
      }
    },
    readAll,
    follow: async function* (after, signal) {
      const going = () => open && !signal.aborted
      for (let at = after; going(); ) {
        const { page } = pageFrom(ofAll, Number(at), Number.MAX_SAFE_INTEGER)
        const last = page.at(-1)
        if (!last) {
          await followers.sleep(signal)
          continue
        }
        yield page
        at = last.position
        await setImmediate()
      }
    },
    at: async (position) => pageFrom(oneAt, Number(position)).page[0],
    first: async () => pageFrom(oldest, 0).page[0],
    head: async () => head(),
    close: async () => {
      open = false
      followers.wake()
    },
  }
}
