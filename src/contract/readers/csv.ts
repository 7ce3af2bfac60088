/** Texts that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/

const cell = (text: string): string => {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** Formats a table as CSV (RFC 4180) with a title row. Formulas are escaped, so that spreadsheets show them as text. */
export const csvOf = <T>(
  items: readonly T[],
  columns: readonly (readonly [title: string, text: (item: T) => string])[],
): string =>
  [columns.map(([title]) => title), ...items.map((item) => columns.map(([, text]) => text(item)))]
    .map((cells) => `${cells.map(cell).join(',')}\r\n`)
    .join('')
