import { type Clock, withTimeout } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { fairGate } from '../../../base/gate.ts'
import { type Row, supersedes, type View } from '../../../projections/views.ts'
import type { Channel } from '../writer/channel.ts'
import { flat, shapeOf } from './view-build.ts'

/** Maximum number of writes of rows in progress. Further writes wait and are refused after `PATIENCE_MS`. */
const BACKLOG = 1024
const PATIENCE_MS = 5000

/**
 * Rows that the writer thread has received but not written, readable by this process: the latest revision by table and
 * key.
 */
const pendingRows = () => {
  const tables = new Map<string, Map<string, Row>>()
  return {
    get: (table: string, key: string): Row | undefined => tables.get(table)?.get(key),
    put: (table: string, rows: readonly Row[]) => {
      let waiting = tables.get(table)
      if (!waiting) tables.set(table, (waiting = new Map()))
      for (const row of rows) {
        const earlier = waiting.get(row.key)
        if (!earlier || supersedes(row, earlier)) waiting.set(row.key, row)
      }
    },
    /**
     * Removes rows that the writer thread has written. If a key has a newer row that is not written yet, this row is
     * kept.
     */
    drop: (table: string, rows: readonly Row[]) => {
      const waiting = tables.get(table)
      for (const row of rows) if (waiting?.get(row.key) === row) waiting.delete(row.key)
    },
  }
}

const tooLong = (): Refusal =>
  new Refusal('backend_unavailable', undefined, {
    cause: new Error(`writing rows of the read models took longer than ${PATIENCE_MS} ms`),
  })

/**
 * Rows that the writer thread has received but not written. Such rows are read from memory until they are written, even
 * if the file can no longer be written.
 */
export const rowsUnderWay = (channel: Channel, clock: Clock) => {
  const pending = pendingRows()
  const flushing = new Set<Promise<void>>()
  const backlog = fairGate({ total: BACKLOG, within: { clock, ms: PATIENCE_MS }, refused: tooLong })
  /** Reason why the views can no longer be written. */
  let failure: unknown

  return {
    get: pending.get,
    /** Resolves when the rows are queued. */
    put: async (view: View, rows: readonly Row[]): Promise<void> => {
      const taken = backlog.take()
      const lease = taken instanceof Promise ? await taken : taken
      if (failure !== undefined) {
        lease.free()
        throw failure
      }
      const shape = shapeOf(view)
      pending.put(shape.table, rows)
      const flush = channel.call('put', shape, flat(shape, rows)).then(
        () => pending.drop(shape.table, rows),
        (cause: unknown) => {
          failure = cause
        },
      )
      flushing.add(flush)
      void flush.then(() => {
        flushing.delete(flush)
        lease.free()
      })
    },
    /** Resolves when all rows that were queued before this call are in the file. */
    flushed: async (): Promise<void> => {
      if (flushing.size > 0)
        await withTimeout(clock, PATIENCE_MS, Promise.all(flushing), () => {
          throw tooLong()
        })
      if (failure !== undefined) throw failure
    },
  }
}
