import type { Right } from '../access/rights.ts'
import { refuse } from '../base/errors.ts'
import { accessEvents } from '../events/access.ts'
import { reader } from '../events/define.ts'
import type { EventLog } from '../events/log.ts'
import { unreadableOf } from '../events/unreadable.ts'

/** Settings that decide which rights need no credential. */
type Openness = {
  readonly required: boolean
  readonly exclude: { readonly management: boolean; readonly evaluation: boolean; readonly ofrep: boolean }
}

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

/** True if a right needed no credential: on every route, or on those of a group. */
export const isOpenFor = (right: Right, { required, exclude }: Openness): boolean => {
  if (!required) return true
  if (exclude.ofrep && right === 'flag.evaluate') return true
  if (exclude.evaluation && (right === 'flag.evaluate' || right === 'flag.snapshot')) return true
  return exclude.management && right !== 'flag.snapshot' && /^(?:flag|segment|namespace|history)\./.test(right)
}
