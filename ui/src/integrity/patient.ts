import { isFailure } from '../api/failure.ts'

/** Attempts to read something, and the time before the second one in ms. */
const [ATTEMPTS, FIRST_MS] = [4, 1000]

/** Waits, or rejects at an abort. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done, reject) => {
    const timer = window.setTimeout(done, ms)
    signal.addEventListener('abort', () => {
      window.clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })

/** Reads again after no answer, 429 and 503, at most four times in all, and not before `Retry-After`. */
export const patiently = async <T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await read()
    } catch (error) {
      if (!isFailure(error) || ![0, 429, 503].includes(error.status) || attempt === ATTEMPTS) throw error
      await pause((error.retryAfter ?? 0) * 1000 || FIRST_MS * 2 ** (attempt - 1), signal)
    }
}
