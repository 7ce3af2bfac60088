import { entryOf, leafOf } from '../../ledger/entry.ts'
import { indexedEvent } from '../facts.ts'
import { COLUMN_PLACES, COLUMNS } from '../forms.ts'
import { type ReadLine, type ReadLines, recordOfColumns } from './read-line.ts'

/** Makes the CSV row of cells, with its end. */
type RowOf = (cells: readonly string[]) => string

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
export const csvReader = (rowOf: RowOf): ReadLines => {
  let isTitled = false
  const titles = rowOf(COLUMNS.map(([title]) => title))
  const readRow = (cells: readonly string[], row: string): ReadLine | undefined => {
    const found = recordOfColumns((title) => plain(cells[COLUMN_PLACES.get(title)!] ?? ''))
    if (found === undefined) return undefined
    const { index, record } = found
    const event = indexedEvent(index, record)
    const isExact = rowOf(COLUMNS.map(([, text]) => text(event))) === row
    return { index, leaf: leafOf(entryOf(record)), isExact, record: () => record }
  }
  return (bytes) => {
    // Cut before the last line end, so that no character is torn.
    const whole = bytes.lastIndexOf(0x0a) + 1
    const text = bytes.toString('utf8', 0, whole)
    const lines: (ReadLine | undefined)[] = []
    let start = 0
    for (let row = rowAt(text, 0); row !== undefined; row = rowAt(text, start)) {
      const given = text.slice(start, row.end)
      if (isTitled) lines.push(readRow(row.cells, given))
      else if (given !== titles) lines.push(undefined)
      isTitled = true
      start = row.end
      if (start >= text.length) break
    }
    return { lines, used: Buffer.byteLength(text.slice(0, start)) }
  }
}
