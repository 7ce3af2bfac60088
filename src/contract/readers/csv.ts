/** Texts that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/

const cell = (text: string): string => {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** Formats one row as CSV (RFC 4180). Formulas are escaped, so that spreadsheets show them as text. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`

/** Formats a table as CSV with a title row. */
export const csvOf = <T>(
  items: readonly T[],
  columns: readonly (readonly [title: string, text: (item: T) => string])[],
): string =>
  [columns.map(([title]) => title), ...items.map((item) => columns.map(([, text]) => text(item)))].map(csvRow).join('')
