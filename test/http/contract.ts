import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../../..')
/** docs/api.md, and the pages that continue its sections. */
export const pages = readdirSync(join(root, 'docs')).filter((name) => /^api(-\w+)?\.md$/.test(name))
export const contract = pages.map((name) => readFileSync(join(root, 'docs', name), 'utf8')).join('\n')

/** Text of a section with its subsections. */
export const section = (number: string): string => {
  const [, ...rest] = contract.split(new RegExp(String.raw`^##? ${number.replace('.', String.raw`\.`)}[. ]`, 'm'))
  return (rest[0] ?? '').split(number.includes('.') ? /^##? \d/m : /^# \d/m, 1)[0]!
}

/** Cells of the tables in a text. */
export const rowsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .replaceAll(String.raw`\|`, '/')
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
