/** Texts that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/

const cell = (text: string): string => {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** Formats one row as CSV (RFC 4180). Formulas are escaped, so that spreadsheets show them as text. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`

type Columns<T> = readonly (readonly [title: string, text: (item: T) => string])[]

/** Formats the rows of a table as CSV. */
export const csvRows = <T>(items: readonly T[], columns: Columns<T>): string =>
  items.map((item) => csvRow(columns.map(([, text]) => text(item)))).join('')

/** Formats a table as CSV with a title row. */
export const csvOf = <T>(items: readonly T[], columns: Columns<T>): string =>
  csvRow(columns.map(([title]) => title)) + csvRows(items, columns)
