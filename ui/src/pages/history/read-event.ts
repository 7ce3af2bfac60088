import { Failure } from '../../api/failure.ts'
import { type HistoryEvent, readEvent, readEvents } from '../../api/history.ts'
import { isPosition } from '../../at.ts'
import { useHistoryReach } from './reach.ts'

/**
 * Returns a function that reads the event at a position. Without `audit.read` it finds the event in the history of the
 * namespace that the user may read.
 */
export const useReadEvent = (position: string): ((signal: AbortSignal) => Promise<HistoryEvent>) => {
  const { namespace } = useHistoryReach({})
  return async (signal) => {
    if (namespace === undefined || !isPosition(position)) return readEvent(position, false, signal)
    const at = BigInt(position)
    const around = { namespaceKey: namespace, before: String(at + 1n), ...(at > 0n && { after: String(at - 1n) }) }
    const [event] = (await readEvents(around, undefined, signal, 1)).events
    if (event) return event
    throw new Failure('not found', { status: 404, reason: 'not_found' })
  }
}
