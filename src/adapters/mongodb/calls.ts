import { MongoBulkWriteError, MongoInvalidArgumentError, MongoServerError } from 'mongodb'
import { type Clock, withTimeout } from '../../base/clock.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import { fairGate } from '../../base/gate.ts'

/**
 * Timeouts in ms of a read, of all reads of one answer, of a write, of a write of a view, of a read and a write of many
 * documents, and of the first connection. The driver's own timeouts are not sufficient, because it retries.
 */
export const patience = {
  read: 1500,
  whole: 1900,
  write: 2000,
  view: 1500,
  batch: 10_000,
  bulk: 10_000,
  connect: 10_000,
} as const
const isWrite = (kind: keyof typeof patience): boolean => kind === 'write' || kind === 'view' || kind === 'bulk'

/** Maximum time in ms that `close` waits for the server. */
const CLOSE_MS = 2000

/** Error code of a write that found an existing document with the same `_id`. */
const DUPLICATE = 11000

/**
 * Returns true for the error of inserts, or of guarded upserts, that failed only because documents with the same `_id`
 * exist. Checks every write of a bulk, because the driver sets only the code of the first failed write.
 */
export const isDuplicate = (error: unknown): error is MongoServerError => {
  if (!(error instanceof MongoServerError)) return false
  if (!(error instanceof MongoBulkWriteError)) return error.code === DUPLICATE
  const failed = [error.writeErrors].flat()
  return (
    failed.length > 0 &&
    failed.every(({ code }) => code === DUPLICATE) &&
    error.result.getWriteConcernError() === undefined
  )
}

/** Returns true if a document exceeds 16 MiB: the driver has no space to serialize it, or the server rejects it. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof RangeError ||
  (error instanceof MongoInvalidArgumentError && /larger than the maximum/.test(error.message)) ||
  (error instanceof MongoServerError && [10334, 17419, 17420].includes(Number(error.code)))

/** Result of a write; undefined if a document with the same `_id` exists. */
export const unlessDuplicate = <T>(write: Promise<T>): Promise<T | undefined> =>
  write.catch((error: unknown) => {
    if (isDuplicate(error)) return undefined
    throw error
  })

/**
 * Options of every read of MongoDB. Aborting `signal` ends the wait for the server. `maxTimeMS` makes the server stop
 * its work, because it may not notice that the client gave up. Omitted for a virtual clock, which servers do not share.
 */
type ReadLimits = { readonly signal: AbortSignal; readonly maxTimeMS?: number }

/**
 * Runs calls to the server with a timeout. A failure throws the refusal `backend_unavailable`, or `body_too_large` for
 * a document over 16 MiB. The wrapper refuses all calls after `close`. At most `writers` writes are under way, with
 * those whose caller no longer waits; further writes wait, and are never sent if they are refused first.
 */
export const mongoCalls = (clock: Clock, writers = Number.POSITIVE_INFINITY) => {
  let open = true
  const gate = fairGate({ total: writers })
  const gated = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const begin = async (): Promise<T> => {
      signal.throwIfAborted()
      if (!open) refuse('backend_unavailable')
      return work()
    }
    return gate.run(begin, undefined, signal)
  }
  return {
    /** `limit`: timeout in ms, if it depends on more than the kind. */
    call: async <T>(
      kind: keyof typeof patience,
      work: (limits: ReadLimits) => Promise<T>,
      limit: number = patience[kind],
    ): Promise<T> => {
      if (!open) refuse('backend_unavailable')
      const stop = new AbortController()
      const giveUp = (): never => {
        const late = new Error(`MongoDB did not answer within ${limit} ms`)
        stop.abort(late)
        throw late
      }
      const { signal } = stop
      const run = () => work({ signal, ...(clock.real && { maxTimeMS: limit }) })
      try {
        return await withTimeout(clock, limit, isWrite(kind) ? gated(signal, run) : run(), giveUp)
      } catch (cause) {
        if (cause instanceof Refusal) throw cause
        throw isTooLarge(cause)
          ? new Refusal('body_too_large', 'a document is larger than MongoDB accepts', { cause })
          : new Refusal('backend_unavailable', undefined, { cause })
      }
    },
    open: () => open,
    /** Refuses all further calls and closes the connection with `end`. `close` waits at most two seconds. */
    close: (end: () => Promise<void>): Promise<void> => {
      open = false
      return withTimeout(clock, CLOSE_MS, end(), () => undefined)
    },
  }
}

export type Calls = ReturnType<typeof mongoCalls>
