import { keyedQueue } from '../concurrency.ts'
import { isRefusal, type Refusal, refuse } from '../errors.ts'

type Queue = { length: number; broken?: Refusal }

/**
 * Runs tasks of one stream one at a time, in order of arrival. Refuses with `write_conflict` if `most` tasks wait. If a
 * task fails with `backend_unavailable`, all tasks queued behind it fail with the same error.
 */
export const streamQueue = (most: number) => {
  const serialize = keyedQueue()
  const queues = new Map<string, Queue>()

  return async <T>(stream: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(stream) ?? { length: 0 }
    if (queue.length > most) return refuse('write_conflict')
    queues.set(stream, queue)
    queue.length++
    const leave = () => {
      if (queues.get(stream) === queue) queues.delete(stream)
    }
    return serialize(stream, async () => {
      try {
        if (queue.broken) throw queue.broken
        return await work()
      } catch (error) {
        if (isRefusal(error, 'backend_unavailable')) {
          queue.broken = error
          leave()
        }
        throw error
      } finally {
        if (--queue.length === 0) leave()
      }
    })
  }
}
