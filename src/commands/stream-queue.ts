import { keyedQueue } from '../concurrency.ts'
import { isRefusal, type Refusal, refuse } from '../errors.ts'

type Queue = { length: number; broken?: Refusal }

/**
 * One thing at a time of each stream, in the order asked. Who comes when `most` wait is refused with `write_conflict`; when the store is
 * out of reach of one, all who wait behind it are refused as it was.
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
