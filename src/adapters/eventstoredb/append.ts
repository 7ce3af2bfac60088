import type { Credentials, EventData } from '@eventstore/db-client'
import type { Clock } from '../../base/clock.ts'
import { keyedQueue } from '../../base/concurrency.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'
import type { Appended, Expected, NewEvent, Stored } from '../../events/log.ts'
import { type Connection, damaged, isExpired, isFailure, pause } from './connection.ts'
import { encodeAll, tooLarge } from './event.ts'
import type { Reader } from './read.ts'

/** Maximum concurrent appends. A connection carries 100 calls, and reads need some of them. */
const ON_WIRE = 64

const isTooLarge = (error: unknown) =>
  isFailure(error, 'maximum-append-size-exceeded') ||
  (error instanceof Error && /exceeds the maximum configured message size/.test(error.message))

type Appending = {
  readonly connection: Connection
  readonly clock: Clock
  readonly reader: Reader
  readonly credentials: Credentials
  readonly patience: number
  readonly inFlight: number
  readonly closing: AbortSignal
}

type Order = {
  readonly stream: string
  readonly events: readonly NewEvent[]
  readonly wire: EventData[]
  readonly expected: Expected
  readonly giveUp: number
}

const answered = (events: readonly Stored[]): Appended => ({
  revision: events.at(-1)!.revision,
  positions: events.map(({ position }) => position),
})
const firstOf = ({ expected }: Order): bigint => (expected === 'none' ? 0n : expected + 1n)
const begins = (found: readonly Stored[], { events }: Order) =>
  found.every(({ id }, n) => id === events[n]?.id.toLowerCase())
const same = (found: readonly Stored[], order: Order) => found.length === order.events.length && begins(found, order)

/**
 * Reads the stream to find the result of an append that the server did not answer: success, conflict, or undefined if
 * it is still unknown. A wrong-version error counts only if the stream confirms it, because a leader that lost its
 * followers checks against events that may disappear.
 */
const outcomeInStream = async (
  reader: Reader,
  order: Order,
  failure: unknown,
  undecided: boolean,
): Promise<Appended | undefined> => {
  const { stream, events, expected } = order
  const found = await reader.some(stream, firstOf(order), events.length)
  if (same(found, order)) return answered(found)
  const wrong = isFailure(failure, 'wrong-expected-version')
  if (found.length > 0 && (wrong || !begins(found, order)))
    return refuse('write_conflict', undefined, { cause: failure })
  if (!wrong || undecided || expected === 'none') return undefined
  const { actualVersion } = failure as { readonly actualVersion?: bigint | string }
  const actual = typeof actualVersion === 'bigint' ? actualVersion : -1n
  if (actual >= expected) return undefined
  const shown = await reader.some(stream, actual < 0n ? 0n : actual, 2)
  return shown.length === (actual < 0n ? 0 : 1) ? refuse('write_conflict', undefined, { cause: failure }) : undefined
}

type Acknowledged = { readonly nextExpectedRevision: bigint; readonly position?: { readonly commit: bigint } }

/** Positions of the events of an acknowledged append; undefined while the stream does not return them. */
const outcomeOf = async (
  reader: Reader,
  order: Order,
  { nextExpectedRevision: revision, position }: Acknowledged,
): Promise<Appended | undefined> => {
  const first = firstOf(order)
  const last = first + BigInt(order.events.length) - 1n
  if (revision !== last || !position)
    throw damaged(
      `${order.stream} has revision ${revision} instead of ${last} in EventStoreDB: it was deleted or truncated`,
    )
  if (order.events.length === 1) return { revision, positions: [position.commit] }
  // The server reports only the position of the last event.
  const found = await reader.some(order.stream, first, order.events.length)
  return same(found, order) ? answered(found) : undefined
}

/** Throws if a failed append must not be retried. */
const throwFinal = (error: unknown, stream: string): void => {
  if (error instanceof Refusal || isFailure(error, 'damaged')) throw error
  if (isTooLarge(error)) tooLarge(error)
  if (isFailure(error, 'stream-deleted')) throw damaged(`the stream ${stream} was deleted in EventStoreDB`, error)
  if (isFailure(error, 'access-denied', 7)) throw new Refusal('backend_unavailable', undefined, { cause: error })
}

/**
 * Appends with unary calls to the leader. The expected revision is always given, so repeating an append is idempotent
 * whatever the result of the first attempt.
 */
export const appender = ({ connection, clock, reader, credentials, patience, inFlight, closing }: Appending) => {
  const inTurn = keyedQueue()
  const wireSlots = fairGate({ total: ON_WIRE })
  const running = new Set<Promise<unknown>>()

  const send = ({ stream, wire, expected }: Order) =>
    connection.call((client) =>
      client.appendToStream(stream, wire, {
        expectedRevision: expected === 'none' ? 'no_stream' : expected,
        credentials,
        requiresLeader: true,
        // The driver uses the machine's clock. The connection times out by the given clock; the driver's deadline only
        // ends abandoned calls.
        deadline: patience,
      }),
    )

  const carryOut = async (order: Order): Promise<Appended> => {
    let undecided = false
    let failure: unknown
    for (;;) {
      if (closing.aborted || clock.monotonic() > order.giveUp)
        throw new Refusal('backend_unavailable', undefined, { cause: failure })
      try {
        const done = await outcomeOf(reader, order, await wireSlots.run(() => send(order)))
        if (done) return done
      } catch (error) {
        failure = error
        throwFinal(error, order.stream)
        const wrong = isFailure(error, 'wrong-expected-version')
        if (!wrong) await pause(clock)
        undecided ||= !wrong
        try {
          // A server that does not answer would also block this read; repeating the append shows the result of the
          // first attempt.
          const settled = isExpired(error) ? undefined : await outcomeInStream(reader, order, error, undecided)
          if (settled) return settled
        } catch (error) {
          if (error instanceof Refusal || isFailure(error, 'damaged')) throw error
          failure = error
        }
      }
      await pause(clock)
    }
  }

  return {
    /**
     * Appends events with the guarantees of the port `EventLog`. If the result is still uncertain after `patience`, the
     * append is refused with `backend_unavailable`.
     */
    append: async (stream: string, events: readonly NewEvent[], expected: Expected): Promise<Appended> => {
      if (events.length === 0) throw new Error(`no event was given to append to ${stream}`)
      if (running.size >= inFlight) refuse('backend_unavailable')
      const giveUp = clock.monotonic() + patience
      const job = (async () => {
        const wire = await encodeAll(events)
        return inTurn(stream, () => carryOut({ stream, events, wire, expected, giveUp }))
      })()
      running.add(job)
      try {
        return await job
      } finally {
        running.delete(job)
      }
    },
    /** Resolves when no append is in progress. */
    idle: async (): Promise<void> => void (await Promise.allSettled(running)),
  }
}
