import type { Credentials, EventData } from '@eventstore/db-client'
import { keyedQueue, semaphore } from '../../concurrency.ts'
import { Refusal, refuse } from '../../errors.ts'
import type { Appended, Expected, NewEvent, Stored } from '../../events/log.ts'
import { type Connection, damaged, isExpired, isFailure, pause } from './connection.ts'
import { encodeAll, tooLarge } from './event.ts'
import type { Reader } from './read.ts'

/** Appends on the wire at once: a connection carries 100 calls, and reads need some of them. */
const ON_WIRE = 80

const isTooLarge = (error: unknown) =>
  isFailure(error, 'maximum-append-size-exceeded') ||
  (error instanceof Error && /exceeds the maximum configured message size/.test(error.message))

type Appending = {
  readonly connection: Connection
  readonly reader: Reader
  readonly credentials: Credentials
  readonly deadline: number
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

/** Appends by unary calls to the leader, with the expected revision always given: then a repeated append is the same append, whatever became of the first. */
export const appender = ({ connection, reader, credentials, deadline, patience, inFlight, closing }: Appending) => {
  const inTurn = keyedQueue()
  const wireSlots = semaphore(ON_WIRE)
  const running = new Set<Promise<unknown>>()

  const answered = (events: readonly Stored[]): Appended => ({
    revision: events.at(-1)!.revision,
    positions: events.map(({ position }) => position),
  })

  const send = ({ stream, wire, expected }: Order) =>
    connection.call((client) =>
      client.appendToStream(stream, wire, {
        expectedRevision: expected === 'none' ? 'no_stream' : expected,
        credentials,
        requiresLeader: true,
        deadline,
      }),
    )

  const begins = (found: readonly Stored[], { events }: Order) =>
    found.every(({ id }, n) => id === events[n]?.id.toLowerCase())
  const same = (found: readonly Stored[], order: Order) => found.length === order.events.length && begins(found, order)

  /**
   * What a look at the stream says of an append that was not acknowledged: what it became, that it is a conflict, or nothing yet.
   * A wrong version is believed only where the stream shows it: a leader that lost its followers checks against events that may vanish again.
   */
  const settle = async (order: Order, failure: unknown, undecided: boolean): Promise<Appended | undefined> => {
    const { stream, events, expected } = order
    const first = expected === 'none' ? 0n : expected + 1n
    const found = await reader.some(stream, first, events.length)
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

  const positionsOf = async (
    order: Order,
    acknowledged: { readonly nextExpectedRevision: bigint; readonly position?: { commit: bigint } },
  ) => {
    const first = order.expected === 'none' ? 0n : order.expected + 1n
    const last = first + BigInt(order.events.length) - 1n
    const { nextExpectedRevision: revision, position } = acknowledged
    if (revision !== last || !position)
      throw damaged(`${order.stream} stands at ${revision} and not at ${last}: it was deleted or truncated`)
    if (order.events.length === 1) return { revision, positions: [position.commit] }
    // The server names the place of the last event only.
    const found = await reader.some(order.stream, first, order.events.length)
    return same(found, order) ? answered(found) : undefined
  }

  const carryOut = async (order: Order): Promise<Appended> => {
    let undecided = false
    let failure: unknown
    for (;;) {
      if (closing.aborted || performance.now() > order.giveUp)
        throw new Refusal('backend_unavailable', undefined, { cause: failure })
      try {
        const done = await positionsOf(order, await wireSlots.hold(() => send(order)))
        if (done) return done
      } catch (error) {
        failure = error
        if (error instanceof Refusal || isFailure(error, 'damaged')) throw error
        if (isTooLarge(error)) return tooLarge(error)
        if (isFailure(error, 'stream-deleted')) throw damaged(`${order.stream} was deleted in EventStoreDB`, error)
        if (isFailure(error, 'access-denied', 7)) throw new Refusal('backend_unavailable', undefined, { cause: error })
        const wrong = isFailure(error, 'wrong-expected-version')
        if (!wrong) await pause()
        undecided ||= !wrong
        try {
          // A server that hangs would hang the look at the stream too; the same append, sent again, tells what became of the first.
          const settled = isExpired(error) ? undefined : await settle(order, error, undecided)
          if (settled) return settled
        } catch (error) {
          if (error instanceof Refusal || isFailure(error, 'damaged')) throw error
          failure = error
        }
      }
      await pause()
    }
  }

  return {
    /** Appends as the port says; what has no certain answer within the patience is refused with `backend_unavailable`. */
    append: async (stream: string, events: readonly NewEvent[], expected: Expected): Promise<Appended> => {
      if (events.length === 0) throw new Error(`nothing to append to ${stream}`)
      if (running.size >= inFlight) refuse('backend_unavailable')
      const giveUp = performance.now() + patience
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
    /** Resolves when no append is under way. */
    idle: async (): Promise<void> => void (await Promise.allSettled(running)),
  }
}
