import type { Position } from '@eventstore/db-client'
import type { Stored } from '../../events/log.ts'
import { type Connection, isFailure, type Lane } from './connection.ts'
import { decode, type Recorded } from './event.ts'

/** Maximum events of one read. */
export const PAGE = 1000

export type IsOwn = (event: Recorded) => boolean

export const at = (position: bigint): Position => ({ commit: position, prepare: position })
export const position = ({ position }: Recorded): bigint => position!.commit

/** Returns true for the error that EventStoreDB returns if no event is at the requested position. */
export const isBetween = (error: unknown): boolean =>
  isFailure(error, 'unknown') && (error as { code?: unknown }).code === 2

type Scan = {
  readonly direction?: 'backwards'
  readonly fromPosition: Position | 'start' | 'end'
  readonly maxCount: number
}
/** Reads $all forwards or backwards from a position until `take` returns true. */
export const scanAll = (
  connection: Connection,
  lane: Lane,
  scan: Scan,
  take: (event: Recorded) => boolean,
): Promise<void> =>
  connection.gather(
    lane,
    (client) => client.readAll({ ...scan, requiresLeader: true }),
    ({ event }) => take(event!),
  )
/** The newest events before a position. */
export const back = (fromPosition: Position | 'end', maxCount = PAGE): Scan => ({
  direction: 'backwards',
  fromPosition,
  maxCount,
})

/** Position of the last event at or before `given`. Reads can start only at the position of an event. */
export const carriedPosition = async (connection: Connection, given: bigint): Promise<bigint | undefined> => {
  for (let from: Position | 'end' = 'end'; ; ) {
    let found: bigint | undefined
    let last: bigint | undefined
    await scanAll(connection, 'log', back(from), (event) => {
      last = position(event)
      if (last <= given) found = last
      return found !== undefined
    })
    if (found !== undefined || last === undefined) return found
    from = at(last)
  }
}

/** Finds the position of the log's last event. Searches back to the newest event seen by the previous call. */
export const headFinder = (connection: Connection, isOwn: IsOwn) => {
  /** The newest event of $all seen so far, and the head found from there. */
  let known = { newest: -1n, head: 0n }

  return async (): Promise<bigint> => {
    const before = known
    let first: bigint | undefined
    let found: bigint | undefined
    for (let [from, most]: [Position | 'end', number] = ['end', 16]; found === undefined; most = PAGE) {
      let last: bigint | undefined
      await scanAll(connection, 'head', back(from, most), (event) => {
        last = position(event)
        first ??= last
        // If the newest known event is missing, the log was replaced, or this leader does not have it yet.
        if (last === before.newest) found = before.head
        else if (isOwn(event)) found = last
        return found !== undefined
      })
      if (last === undefined) found ??= 0n
      else from = at(last)
    }
    const newest = first ?? -1n
    if (newest > known.newest || newest < before.newest) known = { newest, head: found }
    return found
  }
}

/** Event of the log at exactly this position. */
export const eventAt = async (connection: Connection, isOwn: IsOwn, wanted: bigint): Promise<Stored | undefined> => {
  let found: Recorded | undefined
  try {
    await scanAll(connection, 'log', { fromPosition: at(wanted), maxCount: 1 }, (event) => {
      if (position(event) === wanted && isOwn(event)) found = event
      return true
    })
  } catch (error) {
    if (!isBetween(error)) throw error
  }
  return found && decode(found)
}

/** First event of the log, searched from the start of the store. */
const firstEvent = async (connection: Connection, isOwn: IsOwn): Promise<Stored | undefined> => {
  for (let from: bigint | undefined; ; ) {
    let found: Recorded | undefined
    let last: bigint | undefined
    await scanAll(
      connection,
      'log',
      { fromPosition: from === undefined ? 'start' : at(from), maxCount: PAGE },
      (event) => {
        last = position(event)
        if (isOwn(event)) found = event
        return found !== undefined
      },
    )
    if (found) return decode(found)
    if (last === undefined || last === from) return undefined
    from = last
  }
}

/**
 * Finds the first event of the log. Later calls look it up by position, because the store may have many events of other
 * applications before it.
 */
export const firstFinder = (connection: Connection, isOwn: IsOwn) => {
  let known: Stored | undefined

  return async (): Promise<Stored | undefined> => {
    if (known && (await eventAt(connection, isOwn, known.position))?.id === known.id) return known
    return (known = await firstEvent(connection, isOwn))
  }
}
