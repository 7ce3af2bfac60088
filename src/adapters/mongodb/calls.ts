import { MongoInvalidArgumentError, MongoServerError } from 'mongodb'
import { within } from '../../concurrency.ts'
import { Refusal, refuse } from '../../errors.ts'

/**
 * Milliseconds that a request may wait for one read, all reads of one answer, a write, and a batch of a build. The
 * driver's own limits do not help: it retries.
 */
export const patience = { read: 1500, whole: 1900, write: 2000, batch: 10_000 } as const

/** True for the error of an insert, or of a guarded upsert, that met a document with the same `_id`. */
export const isDuplicate = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11000

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
 * Runs work against the server within its time. Any failure is the refusal `backend_unavailable`; a document beyond 16
 * MiB is `body_too_large`. Refuses all after `close`.
 */
export const mongoCalls = () => {
  let open = true
  return {
    call: async <T>(kind: keyof typeof patience, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
      if (!open) refuse('backend_unavailable')
      const limit = patience[kind]
      const stop = new AbortController()
      const giveUp = (): never => {
        const late = new Error(`MongoDB did not answer within ${limit} ms`)
        stop.abort(late)
        throw late
      }
      try {
        return await within(limit, work(stop.signal), giveUp)
      } catch (cause) {
        if (cause instanceof Refusal) throw cause
        throw isTooLarge(cause)
          ? new Refusal('body_too_large', 'a document is larger than the read models take', { cause })
          : new Refusal('backend_unavailable', undefined, { cause })
      }
    },
    open: () => open,
    close: () => {
      open = false
    },
  }
}

export type Calls = ReturnType<typeof mongoCalls>
