import { csvRow } from '../../base/csv.ts'
import type { IndexedEvent } from './event-fields.ts'
import { lineOfColumns, type ReadLine, type ReadLines } from './read-line.ts'

/** Columns of the table of events, in their order. */
export const COLUMNS: readonly (readonly [title: string, text: (event: IndexedEvent) => string])[] = [
  ['index', ({ index }) => String(index)],
  ['position', ({ record }) => String(record.position)],
  ['time', ({ record }) => record.time],
  ['type', ({ fields }) => fields.type],
  ['version', ({ fields }) => String(fields.version)],
  ['category', ({ fields }) => fields.category],
  ['stream', ({ record }) => record.stream],
  ['revision', ({ record }) => String(record.revision)],
  ['id', ({ record }) => record.id],
  ['namespace', ({ fields }) => fields.namespace ?? ''],
  ['subject', ({ fields }) => fields.subject ?? ''],
  ['method', ({ fields }) => fields.method ?? ''],
  ['provider', ({ fields }) => fields.provider ?? ''],
  ['outcome', ({ fields }) => fields.outcome],
  ['command', ({ fields }) => fields.meta?.command ?? ''],
  ['actor_kind', ({ fields }) => fields.actor.kind],
  ['actor_id', ({ fields }) => fields.actor.id ?? ''],
  ['actor_method', ({ fields }) => fields.actor.method ?? ''],
  ['request_id', ({ fields }) => fields.meta?.requestId ?? ''],
  ['correlation_id', ({ fields }) => fields.meta?.correlationId ?? ''],
  ['causation_id', ({ fields }) => fields.meta?.causationId ?? ''],
  ['route', ({ fields }) => fields.meta?.route ?? ''],
  ['reason', ({ fields }) => fields.meta?.reason ?? ''],
  ['instance', ({ fields }) => fields.meta?.instance ?? ''],
  ['data', ({ record }) => record.data],
  ['meta', ({ record }) => record.meta],
]

/** Places of the columns by their titles. */
export const COLUMN_PLACES: ReadonlyMap<string, number> = new Map(COLUMNS.map(([title], n) => [title, n]))

/** Row of the titles of the table of events. */
export const CSV_TITLES = csvRow(COLUMNS.map(([title]) => title))

/** Returns the row of an event in CSV. */
export const csvLine = (event: IndexedEvent): string => csvRow(COLUMNS.map(([, text]) => text(event)))

/** A text that stands behind an apostrophe because it begins like a formula. */
const ESCAPED = /^'[=+\-@\t\r＝＋－＠]/

const plain = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell)

/** Cells of the row at a place of a text, and the place after it; undefined if the row is not whole. */
const rowAt = (
  text: string,
  start: number,
): { readonly cells: readonly string[]; readonly end: number } | undefined => {
  const cells: string[] = []
  for (let at = start; ; ) {
    let cell = ''
    if (text[at] === '"') {
      for (let from = at + 1; ; ) {
        const quote = text.indexOf('"', from)
        // The unit after a quote decides whether the cell ends there.
        if (quote < 0 || quote + 1 >= text.length) return undefined
        cell += text.slice(from, quote)
        at = quote + 1
        if (text[at] !== '"') break
        cell += '"'
        from = quote + 2
      }
      const next = text.slice(at, at + 2)
      if (next[0] !== ',' && next.length < 2) return undefined
    } else {
      const [comma, line] = [text.indexOf(',', at), text.indexOf('\r\n', at)]
      if (line < 0 && comma < 0) return undefined
      const end = comma < 0 || (line >= 0 && line < comma) ? line : comma
      cell = text.slice(at, end)
      at = end
    }
    cells.push(cell)
    if (text[at] === ',') at++
    else {
      const lineEnd = text.indexOf('\r\n', at)
      return lineEnd < 0 ? undefined : { cells, end: lineEnd + 2 }
    }
  }
}

/** Reads the rows of a CSV export, the title row included. Each row is made again from its record and compared. */
export const csvReader = (): ReadLines => {
  let isTitled = false
  const readRow = (cells: readonly string[], row: string): ReadLine | undefined =>
    lineOfColumns(
      (title) => plain(cells[COLUMN_PLACES.get(title)!] ?? ''),
      (event) => csvLine(event) === row,
    )
  return (bytes) => {
    // Cut before the last line end, so that no character is torn.
    const whole = bytes.lastIndexOf(0x0a) + 1
    const text = bytes.toString('utf8', 0, whole)
    const lines: (ReadLine | undefined)[] = []
    let start = 0
    for (let row = rowAt(text, 0); row !== undefined; row = rowAt(text, start)) {
      const given = text.slice(start, row.end)
      if (isTitled) lines.push(readRow(row.cells, given))
      else if (given !== CSV_TITLES) lines.push(undefined)
      isTitled = true
      start = row.end
      if (start >= text.length) break
    }
    return { lines, used: Buffer.byteLength(text.slice(0, start)) }
  }
}
