import type { Openness } from '../access/openness.ts'
import { refuse } from '../base/errors.ts'
import { accessEvents } from '../events/access.ts'
import { reader } from '../events/define.ts'
import type { EventLog } from '../events/log.ts'
import { unreadableOf } from '../events/unreadable.ts'

const read = reader(accessEvents)

/**
 * Returns the settings of access without a credential at a position, as the history recorded them. The result is
 * undefined if nothing is recorded.
 */
export const opennessAt = async (log: Pick<EventLog, 'read'>, position: bigint): Promise<Openness | undefined> => {
  let last: Openness | undefined
  try {
    for await (const page of log.read('access-main'))
      for (const event of page) {
        if (last && event.position > position) return last
        last = read(event.type, event.data).data
      }
  } catch (error) {
    if (unreadableOf(error)) refuse('event_unreadable')
    throw error
  }
  return last
}
