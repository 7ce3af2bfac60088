import type { Position } from '@eventstore/db-client'
import type { Stored } from '../../events/log.ts'
import type { Connection, Lane } from './connection.ts'
import { decode, type Recorded } from './event.ts'
import { isFailure } from './failures.ts'

/** Events of one read. */
export const PAGE = 1000

export type IsOwn = (event: Recorded) => boolean

export const at = (position: bigint): Position => ({ commit: position, prepare: position })
export const position = ({ position }: Recorded): bigint => position!.commit

/** True for the answer to a position that no event carries. */
export const isBetween = (error: unknown): boolean =>
  isFailure(error, 'unknown') && (error as { code?: unknown }).code === 2

/** Reads $all backwards from a position, as far as `take` wants it. */
export const readBackwards = (
  connection: Connection,
  lane: Lane,
  from: Position | 'end',
  most: number,
  take: (event: Recorded) => boolean,
): Promise<void> =>
  connection.gather(
    lane,
    (client) => client.readAll({ direction: 'backwards', fromPosition: from, maxCount: most, requiresLeader: true }),
    ({ event }) => take(event!),
  )

/** The last position at or before the given one that an event carries: reads may begin only at such. */
export const carriedPosition = async (connection: Connection, given: bigint): Promise<bigint | undefined> => {
  for (let from: Position | 'end' = 'end'; ; ) {
    let found: bigint | undefined
    let last: bigint | undefined
    await readBackwards(connection, 'log', from, PAGE, (event) => {
      last = position(event)
      if (last <= given) found = last
      return found !== undefined
    })
    if (found !== undefined || last === undefined) return found
    from = at(last)
  }
}

/** Finds the position of the log's last event; each time it looks no further back than the time before. */
export const headFinder = (connection: Connection, isOwn: IsOwn) => {
  /** The newest event of $all looked at, and the head found from there. */
  let known = { newest: -1n, head: 0n }

  return async (): Promise<bigint> => {
    const before = known
    let first: bigint | undefined
    let found: bigint | undefined
    for (let [from, most]: [Position | 'end', number] = ['end', 16]; found === undefined; most = PAGE) {
      let last: bigint | undefined
      await readBackwards(connection, 'head', from, most, (event) => {
        last = position(event)
        first ??= last
        // Where the newest event known is not there any more, the log is another than it was, or this leader knows less.
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

/** Reads $all forwards from an event, or from the start, as far as `take` wants it. */
export const readForwards = (
  connection: Connection,
  from: bigint | undefined,
  most: number,
  take: (event: Recorded) => boolean,
): Promise<void> =>
  connection.gather(
    'log',
    (client) =>
      client.readAll({ fromPosition: from === undefined ? 'start' : at(from), maxCount: most, requiresLeader: true }),
    ({ event }) => take(event!),
  )

/** The event of the log that carries exactly this position. */
export const eventAt = async (connection: Connection, isOwn: IsOwn, wanted: bigint): Promise<Stored | undefined> => {
  let found: Recorded | undefined
  try {
    await readForwards(connection, wanted, 1, (event) => {
      if (position(event) === wanted && isOwn(event)) found = event
      return true
    })
  } catch (error) {
    if (!isBetween(error)) throw error
  }
  return found && decode(found)
}

/** The first event of the log, looked for from the start of the store on. */
const firstEvent = async (connection: Connection, isOwn: IsOwn): Promise<Stored | undefined> => {
  for (let from: bigint | undefined; ; ) {
    let found: Recorded | undefined
    let last: bigint | undefined
    await readForwards(connection, from, PAGE, (event) => {
      last = position(event)
      if (isOwn(event)) found = event
      return found !== undefined
    })
    if (found) return decode(found)
    if (last === undefined || last === from) return undefined
    from = last
  }
}

/** Finds the first event of the log; found once, it is asked for by its place, for none comes before it: the events of others may be many. */
export const firstFinder = (connection: Connection, isOwn: IsOwn) => {
  let known: Stored | undefined

  return async (): Promise<Stored | undefined> => {
    if (known && (await eventAt(connection, isOwn, known.position))?.id === known.id) return known
    return (known = await firstEvent(connection, isOwn))
  }
}
