import { type Clock, withTimeout } from '../../../clock.ts'
import { semaphore } from '../../../concurrency.ts'
import { refuse } from '../../../errors.ts'
import { type Row, supersedes, type View } from '../../../projections/views.ts'
import type { Channel } from '../writer/channel.ts'
import { flat, shapeOf } from './view-build.ts'

/** Puts that may be on their way to the file; who comes then waits, and is refused when that lasts. */
const BACKLOG = 1024
const PATIENCE_MS = 5000

/** Rows on their way to the file, seen by their writer already: by table and key, the latest revision of each. */
const pendingRows = () => {
  const tables = new Map<string, Map<string, Row>>()
  return {
    get: (table: string, key: string): Row | undefined => tables.get(table)?.get(key),
    put: (table: string, rows: readonly Row[]) => {
      let waiting = tables.get(table)
      if (!waiting) tables.set(table, (waiting = new Map()))
      for (const row of rows) {
        const there = waiting.get(row.key)
        if (!there || supersedes(row, there)) waiting.set(row.key, row)
      }
    },
    /** These rows have reached the file; a later one of the same key stays. */
    drop: (table: string, rows: readonly Row[]) => {
      const waiting = tables.get(table)
      for (const row of rows) if (waiting?.get(row.key) === row) waiting.delete(row.key)
    },
  }
}

/** Waits until this has happened, and refuses when it takes too long. */
const soon = (clock: Clock, work: Promise<unknown>) =>
  withTimeout(clock, PATIENCE_MS, work, () =>
    refuse('backend_unavailable', undefined, {
      cause: new Error(`read models waited ${PATIENCE_MS} ms to be written`),
    }),
  )

/** Rows on their way to the file: they stand in memory until they are there, also when the file cannot be written any more. */
export const rowsUnderWay = (channel: Channel, clock: Clock) => {
  const pending = pendingRows()
  const flushing = new Set<Promise<void>>()
  const backlog = semaphore(BACKLOG)
  /** Why the views cannot be written any more. */
  let failure: unknown

  return {
    get: pending.get,
    /** Answers when the rows are on their way. */
    put: async (view: View, rows: readonly Row[]): Promise<void> => {
      const entered = backlog.enter()
      if (entered)
        await soon(clock, entered).catch((late: unknown) => {
          void entered.then(backlog.leave)
          throw late
        })
      if (failure !== undefined) {
        backlog.leave()
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
        backlog.leave()
      })
    },
    /** Resolves when all that is under way now is in the file. */
    flushed: async (): Promise<void> => {
      if (flushing.size > 0) await soon(clock, Promise.all(flushing))
      if (failure !== undefined) throw failure
    },
  }
}
