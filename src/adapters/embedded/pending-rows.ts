import { type Row, supersedes } from '../../projections/views.ts'

/** Rows on their way to the file, seen by their writer already: by table and key, the latest revision of each. */
export const pendingRows = () => {
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
