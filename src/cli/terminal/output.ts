import Table from 'cli-table3'
import { escapeControl, escapeLines } from '../../base/control-characters.ts'
import { csvOf } from '../../base/csv.ts'
import { fail } from '../../base/failure.ts'
import { printForeign, type Terminal } from './terminal.ts'

export type Format = 'table' | 'csv' | 'json' | 'ndjson' | 'name'
export type OutputOptions = {
  readonly output: Format
  readonly field?: string
  readonly headers: boolean
  readonly color: boolean
}
export type Column<T> = readonly [title: string, text: (item: T) => string]

const BARE = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/** Table without borders, one item per line; identical in pipes and terminals except for colour. */
export const table = <T>(
  { hasColour }: Pick<Terminal, 'hasColour'>,
  items: readonly T[],
  columns: readonly Column<T>[],
  { headers, color }: Pick<OutputOptions, 'headers' | 'color'>,
): string => {
  const plain = {
    chars: BARE,
    style: { 'padding-left': 0, 'padding-right': 0, head: color && hasColour() ? ['bold'] : [], border: [] },
  }
  const rows = new Table(headers ? { ...plain, head: columns.map(([title]) => title) } : plain)
  rows.push(...items.map((item) => columns.map(([, text]) => escapeControl(text(item)))))
  const lines = rows
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
  return headers || items.length > 0 ? `${lines.join('\n')}\n` : ''
}

/**
 * Value at a path of field names with dots. Also finds a field whose name contains dots
 * (`metadata.io.service.auth.token.name`).
 */
export const at = (value: unknown, path: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Readonly<Record<string, unknown>>
  if (Object.hasOwn(members, path)) return members[path]
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const head = path.slice(0, dot)
    const found = Object.hasOwn(members, head) ? at(members[head], path.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** JSON whose texts cannot control a terminal behind a pipe. */
const jsonOf = (value: unknown, indent?: number): string => escapeLines(JSON.stringify(value, undefined, indent))

const raw = (value: unknown): string => (typeof value === 'string' ? value : jsonOf(value))

/** Prints one item: as a table, JSON or its name, or one field without a newline. */
export const printOne = <T>(
  terminal: Terminal,
  item: T,
  name: (item: T) => string,
  columns: readonly Column<T>[],
  look: OutputOptions,
): void => {
  if (look.field !== undefined) {
    const value = at(item, look.field)
    printForeign(
      terminal,
      value === undefined ? fail('notFound', `The answer has no field ${look.field}.`) : raw(value),
    )
    return
  }
  const forms: Readonly<Record<Format, () => string>> = {
    table: () =>
      table(
        terminal,
        columns.filter(([, text]) => text(item) !== ''),
        [
          ['FIELD', ([title]) => title],
          ['VALUE', ([, text]) => text(item)],
        ],
        look,
      ),
    csv: () => csvOf([item], columns),
    json: () => `${jsonOf(item, 2)}\n`,
    ndjson: () => `${jsonOf(item)}\n`,
    name: () => `${name(item)}\n`,
  }
  const text = forms[look.output]()
  if (look.output === 'table') terminal.print(text)
  else printForeign(terminal, text)
}

/** Prints several items: as a table, CSV, the JSON of `whole`, one JSON line, name or field per item. */
export const printMany = <T>(
  terminal: Terminal,
  items: readonly T[],
  whole: unknown,
  name: (item: T) => string,
  columns: readonly Column<T>[],
  look: OutputOptions,
): void => {
  const { field } = look
  if (field !== undefined) {
    printForeign(terminal, items.map((item) => `${raw(at(item, field) ?? '')}\n`).join(''))
    return
  }
  const forms: Readonly<Record<Format, () => string>> = {
    table: () => table(terminal, items, columns, look),
    csv: () => csvOf(items, columns),
    json: () => `${jsonOf(whole, 2)}\n`,
    ndjson: () => items.map((item) => `${jsonOf(item)}\n`).join(''),
    name: () => items.map((item) => `${name(item)}\n`).join(''),
  }
  const text = forms[look.output]()
  if (look.output === 'table') terminal.print(text)
  else printForeign(terminal, text)
}
