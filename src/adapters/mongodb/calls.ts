import { MongoBulkWriteError, MongoInvalidArgumentError, MongoServerError } from 'mongodb'
import { type Clock, withTimeout } from '../../clock.ts'
import { Refusal, refuse } from '../../errors.ts'

/**
 * Milliseconds that a request may wait for one read, all reads of one answer, a write, and a batch of a build. The
 * driver's own limits do not help: it retries.
 */
export const patience = { read: 1500, whole: 1900, write: 2000, batch: 10_000 } as const

/** Milliseconds that the end waits for a server that does not answer. */
const CLOSE_MS = 2000

/** The code of a write that met a document with the same `_id`. */
const DUPLICATE = 11000

/**
 * True for the error of inserts, or of guarded upserts, that met documents with the same `_id` and failed in nothing else. The driver gives the
 * error of a bulk the code of the first write that failed, so each is looked at.
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

/** True for a document beyond 16 MiB: the driver has no room to write it down, or the server says so. */
const isTooLarge = (error: unknown): boolean =>
  error instanceof RangeError ||
  (error instanceof MongoInvalidArgumentError && /larger than the maximum/.test(error.message)) ||
  (error instanceof MongoServerError && [10334, 17419, 17420].includes(Number(error.code)))

/** The result of a write, or undefined when it met a document with the same `_id`. */
export const unlessDuplicate = <T>(write: Promise<T>): Promise<T | undefined> =>
  write.catch((error: unknown) => {
    if (isDuplicate(error)) return undefined
    throw error
  })

/**
 * Options that every read is given. `signal` ends the waiting for it. The server ends its own work after `maxTimeMS`: one
 * that does not notice that nobody waits would work on. Absent where the clock is not the one that servers measure by.
 */
export type ReadLimits = { readonly signal: AbortSignal; readonly maxTimeMS?: number }

/**
 * Runs work against the server within its time. Any failure is the refusal `backend_unavailable`; a document beyond 16
 * MiB is `body_too_large`. Refuses all after `close`.
 */
export const mongoCalls = (clock: Clock) => {
  let open = true
  return {
    call: async <T>(kind: keyof typeof patience, work: (limits: ReadLimits) => Promise<T>): Promise<T> => {
      if (!open) refuse('backend_unavailable')
      const limit = patience[kind]
      const stop = new AbortController()
      const giveUp = (): never => {
        const late = new Error(`MongoDB did not answer within ${limit} ms`)
        stop.abort(late)
        throw late
      }
      try {
        return await withTimeout(
          clock,
          limit,
          work({ signal: stop.signal, ...(clock.real && { maxTimeMS: limit }) }),
          giveUp,
        )
      } catch (cause) {
        if (cause instanceof Refusal) throw cause
        throw isTooLarge(cause)
          ? new Refusal('body_too_large', 'a document is larger than the read models take', { cause })
          : new Refusal('backend_unavailable', undefined, { cause })
      }
    },
    open: () => open,
    /** Refuses all from here on, and ends the connection as it is told to; who waits is kept no longer than two seconds. */
    close: (end: () => Promise<void>): Promise<void> => {
      open = false
      return withTimeout(clock, CLOSE_MS, end(), () => undefined)
    },
  }
}

export type Calls = ReturnType<typeof mongoCalls>
