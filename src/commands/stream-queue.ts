import { keyedQueue } from '../concurrency.ts'
import { isRefusal, type Refusal, refuse } from '../errors.ts'

type Line = { length: number; broken?: Refusal }

/**
 * One thing at a time of each stream, in the order asked. Who comes when `most` wait is refused with `write_conflict`; when the store is
 * out of reach of one, all who wait behind it are refused as it was.
 */
export const turns = (most: number) => {
  const inTurn = keyedQueue()
  const lines = new Map<string, Line>()

  return async <T>(stream: string, work: () => Promise<T>): Promise<T> => {
    const line = lines.get(stream) ?? { length: 0 }
    if (line.length > most) return refuse('write_conflict')
    lines.set(stream, line)
    line.length++
    const leave = () => {
      if (lines.get(stream) === line) lines.delete(stream)
    }
    return inTurn(stream, async () => {
      try {
        if (line.broken) throw line.broken
        return await work()
      } catch (error) {
        if (isRefusal(error, 'backend_unavailable')) {
          line.broken = error
          leave()
        }
        throw error
      } finally {
        if (--line.length === 0) leave()
      }
    })
  }
}
