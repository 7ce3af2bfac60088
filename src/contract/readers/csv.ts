/** What a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/

const cell = (text: string): string => {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** A table as CSV (RFC 4180), its titles first. What would be a formula in a spreadsheet is text there. */
export const csvOf = <T>(
  items: readonly T[],
  columns: readonly (readonly [title: string, text: (item: T) => string])[],
): string =>
  [columns.map(([title]) => title), ...items.map((item) => columns.map(([, text]) => text(item)))]
    .map((cells) => `${cells.map(cell).join(',')}\r\n`)
    .join('')
