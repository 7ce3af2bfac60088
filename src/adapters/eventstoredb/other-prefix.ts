import type { Clock } from '../../clock.ts'
import { type Connection, patiently } from './connection.ts'
import { isEnveloped, type Recorded } from './event.ts'
import { PAGE, readBackwards, readForwards } from './find.ts'

/** Milliseconds that a look at the beginning or the end of the store may take. */
const PATIENCE_MS = 10_000

/** A prefix as it may be set. */
const PREFIX = '[A-Za-z0-9_.:/]*?'

/**
 * The prefix of streams that look like those of these categories and hold events in our form, under any prefix but this one. Looks at the
 * beginning and at the end of the store.
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
