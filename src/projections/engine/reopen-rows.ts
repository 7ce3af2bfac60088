import type { EventLog } from '../../events/log.ts'
import { unreadableOf } from '../../events/unreadable.ts'
import { type AnyProjection, project } from '../projection.ts'
import { type Row, supersedes, type Views } from '../views.ts'

/**
 * Computes the row of an unreadable document from its stream, because this version may be able to read it. Returns the
 * stored row if it cannot.
 */
const refolded = async (log: Pick<EventLog, 'read'>, projection: AnyProjection, closed: Row): Promise<Row> => {
  let row: Row | undefined
  try {
    for await (const page of log.read(`${projection.category}-${closed.key}`))
      for (const event of page) row = project(projection, row, event)
  } catch (error) {
    if (!unreadableOf(error)) throw error
  }
  return row && (row.revision > closed.revision || !row.unreadable) ? row : closed
}

/**
 * Returns readable rows unchanged, and computes unreadable ones again. Rows that are readable again are written to the
 * views.
 */
export const reopenRows =
  (log: Pick<EventLog, 'read'>, views: Pick<Views, 'put'>, onError: (error: unknown) => void) =>
  async (projection: AnyProjection, row: Row): Promise<Row> => {
    if (!row.unreadable) return row
    const now = await refolded(log, projection, row)
    if (supersedes(now, row)) await views.put(projection, [now]).catch(onError)
    return now
  }
