import { Refusal } from '../../base/errors.ts'

type Failure = { readonly type?: unknown; readonly code?: unknown; readonly message?: string }
const failureOf = (error: unknown): Failure => (error instanceof Error ? error : {})

/** Returns true if the error has this type of the driver, or is a plain gRPC error with this code. */
export const isFailure = (error: unknown, type: string, code?: number): boolean => {
  const failure = failureOf(error)
  return failure.type === type || (code !== undefined && failure.type === undefined && failure.code === code)
}
export const isExpired = (error: unknown): boolean => isFailure(error, 'deadline-exceeded', 4)
export const expired = (ms: number) =>
  Object.assign(new Error(`EventStoreDB did not answer within ${ms} ms`), { type: 'deadline-exceeded', code: 4 })

/** Error that a retry cannot fix: the history has changed. */
export const damaged = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { type: 'damaged' })
/** Returns true for errors that are a definite result, so that a retry is useless. */
export const isAnswer = (error: unknown): boolean =>
  error instanceof Refusal ||
  isFailure(error, 'damaged') ||
  isFailure(error, 'stream-deleted') ||
  isFailure(error, 'access-denied', 7)
/** Converts an error to one of the port. */
export const inPort = (error: unknown): unknown => {
  if (isFailure(error, 'stream-deleted')) return damaged('a stream was deleted in EventStoreDB', error)
  return isAnswer(error) && !isFailure(error, 'access-denied', 7)
    ? error
    : new Refusal('backend_unavailable', undefined, { cause: error })
}
