import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../test/root.ts'

/** Kinds of a fragment, with their headings in the order of CHANGELOG.md. */
const HEADINGS = {
  upgrade: 'Upgrade notes',
  security: 'Security',
  added: 'Added',
  changed: 'Changed',
  fixed: 'Fixed',
} as const
type Kind = keyof typeof HEADINGS

export type Fragment = { readonly name: string; readonly kind: Kind; readonly line: string }

/** Parses a fragment: a line `kind: …`, then one line of text. */
export const fragmentOf = (name: string, text: string): Fragment => {
  const match = /^kind: (\w+)\n+(\S[^\n]*)\n$/.exec(text)
  if (match === null) throw new Error(`changelog/${name}: expected a line "kind: …" and one line of text`)
  const [, kind, line] = match
  if (!Object.hasOwn(HEADINGS, kind!))
    throw new Error(`changelog/${name}: kind "${kind}" is none of ${Object.keys(HEADINGS).join(', ')}`)
  return { name, kind: kind as Kind, line: line! }
}

const folder = join(root, 'changelog')

/** The fragments of the tree by name, without the README of their folder. */
export const fragments = (): readonly Fragment[] =>
  (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .toSorted()
    .map((name) => fragmentOf(name, readFileSync(join(folder, name), 'utf8')))

/** The section of a release: fragments as list items under the heading of their kind. */
export const section = (all: readonly Fragment[]): string =>
  (Object.keys(HEADINGS) as readonly Kind[])
    .map((kind) => ({ heading: HEADINGS[kind], lines: all.filter((each) => each.kind === kind) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ heading, lines }) => `### ${heading}\n\n${lines.map(({ line }) => `- ${line}\n`).join('')}`)
    .join('\n')

if (process.argv[1] === import.meta.filename) {
  const all = fragments()
  process.stdout.write(section(all))
  for (const { name } of all) rmSync(join(folder, name))
}
