import type { Clock } from '../../base/clock.ts'
import { type Connection, patiently } from './connection.ts'
import { isEnveloped, type Recorded } from './event.ts'
import { PAGE, readBackwards, readForwards } from './find.ts'

/** Timeout in ms of the search at the start or at the end of the store. */
const PATIENCE_MS = 10_000

/** Pattern of a valid prefix. */
const PREFIX = '[A-Za-z0-9_.:/]*?'

/**
 * Finds a prefix, other than the configured one, whose streams have the given categories and contain events in the
 * format of Rollcall. Searches only the first and the newest events of the store.
 */
export const otherPrefix = async (
  connection: Connection,
  clock: Clock,
  categories: readonly string[],
  own: string,
): Promise<string | undefined> => {
  const named = new RegExp(`^(${PREFIX})(?:${categories.join('|')})-`)
  let found: string | undefined
  const look = (event: Recorded): boolean => {
    const prefix = isEnveloped(event) ? named.exec(event.streamId)?.[1] : undefined
    if (prefix !== own) found ??= prefix
    return found !== undefined
  }
  await patiently(clock, PATIENCE_MS, () => readForwards(connection, undefined, PAGE, look))
  if (found === undefined)
    await patiently(clock, PATIENCE_MS, () => readBackwards(connection, 'log', 'end', PAGE, look))
  return found
}
