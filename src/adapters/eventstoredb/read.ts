import type { ResolvedEvent } from '@eventstore/db-client'
import type { Clock } from '../../base/clock.ts'
import { sharedCalls } from '../../base/concurrency.ts'
import { refuse } from '../../base/errors.ts'
import type { Stored } from '../../events/log.ts'
import { unreadable } from '../../events/unreadable.ts'
import { type Connection, isFailure, patiently, pause } from './connection.ts'
import { decode, type Recorded } from './event.ts'
import { at, carriedPosition, eventAt, firstFinder, headFinder, type IsOwn, isBetween, position } from './find.ts'

const PAGE = 1000
/** Maximum characters of data and metadata in a page. The maximum limits the memory and the time of one read. */
const PAGE_CHARACTERS = 4 * 1_048_576

const sizeOf = ({ data, meta }: Stored) => data.length + meta.length

/** Number of events in the next page. */
export const pageLength = (events: readonly Stored[]): number => {
  let characters = 0
  const full = events.findIndex((event) => (characters += sizeOf(event)) >= PAGE_CHARACTERS)
  return Math.min(PAGE, full === -1 ? events.length : full + 1)
}

/**
 * Part of a stream or of the log. `last` is the position or revision of the last event read, including foreign events.
 * `end` is true if there are no more events.
 */
type ReadPage = { readonly events: readonly Stored[]; readonly last: bigint | undefined; readonly end: boolean }

/** Collects a page: `take` processes an event, `done` returns the page after the read. */
const page = (most: number, keep: (event: Recorded) => boolean, mark: (event: Recorded) => bigint) => {
  const events: Stored[] = []
  let [seen, characters] = [0, 0]
  let last: bigint | undefined
  const take = ({ event }: ResolvedEvent): boolean => {
    seen++
    last = mark(event!)
    if (!keep(event!)) return false
    const stored = decode(event!)
    events.push(stored)
    characters += sizeOf(stored)
    return characters >= PAGE_CHARACTERS
  }
  return { take, done: (): ReadPage => ({ events, last, end: seen < most && characters < PAGE_CHARACTERS }) }
}

const streamPart = async (connection: Connection, stream: string, from: bigint, most: number): Promise<ReadPage> => {
  const part = page(
    most,
    ({ type }) => !type.startsWith('$'),
    ({ revision }) => revision,
  )
  try {
    await connection.gather(
      'stream',
      (client) => client.readStream(stream, { fromRevision: from, maxCount: most, requiresLeader: true }),
      part.take,
    )
  } catch (error) {
    if (isFailure(error, 'stream-deleted'))
      throw unreadable({
        stream,
        revision: String(from),
        type: '',
        position: '',
        why: 'the stream was deleted in EventStoreDB',
      })
    if (!isFailure(error, 'stream-not-found')) throw error
  }
  return part.done()
}

/**
 * `known` is true if there is an event at `from`; then a failed read does not start the search for a valid position.
 */
const logPart = async (
  connection: Connection,
  isOwn: IsOwn,
  { from, to, known }: { readonly from: bigint; readonly to: bigint; readonly known: boolean },
): Promise<ReadPage> => {
  const part = page(PAGE, (event) => position(event) > from && position(event) <= to && isOwn(event), position)
  const read = (begin: bigint | undefined) =>
    connection.gather(
      'log',
      (client) =>
        client.readAll({
          fromPosition: begin === undefined ? 'start' : at(begin),
          maxCount: PAGE,
          requiresLeader: true,
        }),
      (item) => part.take(item) || position(item.event!) >= to,
    )
  try {
    await read(from === 0n ? undefined : from)
  } catch (error) {
    // Error for a position between two events.
    if (known || !isBetween(error)) throw error
    await read(await carriedPosition(connection, from))
  }
  return part.done()
}

type Patience = {
  readonly clock: Clock
  /** Timeout in ms of a read without a certain result. */
  readonly patience: number
  /** Timeout in ms of an urgent read without a certain result. */
  readonly quick: number
}

export type Reader = ReturnType<typeof reader>

/**
 * Reads streams and the log in pages. Each page is a short call to the leader, so a slow consumer occupies nothing on
 * the connection.
 */
export const reader = (connection: Connection, isOwn: IsOwn, { clock, patience, quick }: Patience) => {
  const find = headFinder(connection, isOwn)
  const findFirst = firstFinder(connection, isOwn)
  /** Highest head seen. A node that is behind must not make the log look shorter. */
  let highest = 0n
  const findHead = async () => {
    const head = await find()
    if (head > highest) highest = head
    return head
  }
  const findEnd = async () => {
    await findHead()
    return highest
  }
  const shared = sharedCalls<ReadPage>()

  return {
    /**
     * Position of the last event, read from the leader within one deadline. Readiness checks and the check for new
     * events use it.
     */
    head: (): Promise<bigint> => patiently(clock, quick, findHead),
    /** Event at exactly this position. */
    at: (position: bigint): Promise<Stored | undefined> =>
      patiently(clock, quick, () => eventAt(connection, isOwn, position)),
    /** First event of the log. */
    first: (): Promise<Stored | undefined> => patiently(clock, patience, findFirst),
    /** At most `most` events of a stream from a revision on, without retries. */
    some: async (stream: string, from: bigint, most: number): Promise<readonly Stored[]> => {
      const events: Stored[] = []
      for (let next = from; events.length < most; ) {
        const part = await streamPart(connection, stream, next, most - events.length)
        events.push(...part.events)
        if (part.end) break
        next = part.last! + 1n
      }
      return events
    },
    read: async function* (
      stream: string,
      from = 0n,
      most = Number.POSITIVE_INFINITY,
    ): AsyncGenerator<readonly Stored[]> {
      for (let [next, left] = [from, most]; left > 0; ) {
        const count = Math.min(left, PAGE)
        const part = await patiently(clock, patience, () =>
          shared(`${next} ${count} ${stream}`, () => streamPart(connection, stream, next, count)),
        )
        if (part.events.length > 0) yield part.events
        if (part.end) return
        next = part.last! + 1n
        left -= part.events.length
      }
    },
    readAll: async function* (after: bigint, to?: bigint): AsyncGenerator<readonly Stored[]> {
      const newest = await patiently(clock, patience, findEnd)
      const end = to === undefined || to > newest ? newest : to
      for (let [from, giveUp] = [after, clock.monotonic() + patience]; from < end; ) {
        const part = await patiently(clock, patience, () =>
          logPart(connection, isOwn, { from, to: end, known: from !== after }),
        )
        if (part.last !== undefined && part.last > from) [from, giveUp] = [part.last, clock.monotonic() + patience]
        // A node that lacks the newest events must not make the log look shorter than it is.
        else if (clock.monotonic() > giveUp) refuse('backend_unavailable')
        else await pause(clock)
        if (part.events.length > 0) yield part.events
      }
    },
  }
}
