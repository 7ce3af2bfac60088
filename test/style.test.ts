import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { root } from './root.ts'

/** A passage of prose, and the place that a failure names. */
type Prose = { readonly place: string; readonly text: string }
type Area = 'src' | 'ui' | 'messages' | 'tests' | 'changelog' | 'api' | 'docs' | 'deploy'

const filesOf = (folder: string, ending: RegExp): readonly string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => ending.test(name))
        .map((name) => join(root, folder, name))
    : []

/** Matches of a pattern in files, each with its line. The first group is the text. */
const passages = (files: readonly string[], pattern: RegExp): readonly Prose[] =>
  files.flatMap((file) => {
    const source = readFileSync(file, 'utf8')
    return [...source.matchAll(pattern)].map(({ index, groups }) => ({
      place: `${relative(root, file)}:${source.slice(0, index).split('\n').length}`,
      text: (groups!['block'] ?? groups!['line'] ?? '').replaceAll(/\n\s*(\*|\/\/)?/g, ' ').trim(),
    }))
  })

/** Block comments, and line comments with the lines that follow them. A `//` inside a string has no space on both sides. */
const COMMENT = /(?:^|[ \t{(])\/\*\*?(?<block>[^]*?)\*\/|(?:^|[ \t])\/\/ (?<line>[^\n]*(?:\n[ \t]*\/\/ [^\n]*)*)/gm
const TEST_NAME = /\btest\(\s*(?<quote>['"`])(?<line>(?:(?!\k<quote>)[^\\]|\\.)*)\k<quote>/g

/** Strings of the code. Comments are matched first, because they may contain quotes. */
const STRING = /\/\*[^]*?\*\/|(?<![:\\])\/\/[^\n]*|(?<quote>['"`])(?<line>(?:(?!\k<quote>)[^\\]|\\.)*)\k<quote>/g
const SEVERAL_WORDS = /[a-z] [a-z]+ [a-z]/i

/** Paragraphs of pages and lines of their tables, without blocks of code. */
const pages = (files: readonly string[]): readonly Prose[] =>
  files.flatMap((file) => {
    const source = readFileSync(file, 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, (code) => code.replaceAll(/.+/g, '```'))
    return [...source.matchAll(/^#.*|.+(?:\n(?! *[-*|#>`]).+)*/gm)].map(({ index, 0: text }) => ({
      place: `${relative(root, file)}:${source.slice(0, index).split('\n').length}`,
      text,
    }))
  })
const docs = filesOf('docs', /\.md$/)
const isApi = (file: string) => file.includes('/docs/api')

const prose: Readonly<Record<Area, readonly Prose[]>> = {
  src: passages(filesOf('src', /\.ts$/), COMMENT),
  ui: passages(filesOf('ui/src', /\.tsx?$/), COMMENT),
  tests: passages(filesOf('test', /\.test\.ts$/), TEST_NAME),
  messages: passages([...filesOf('src', /\.ts$/), ...filesOf('ui/src', /\.tsx?$/)], STRING).filter(({ text }) =>
    SEVERAL_WORDS.test(text),
  ),
  changelog: pages([...filesOf('changelog', /\.md$/), join(root, 'CHANGELOG.md')]),
  api: pages(docs.filter(isApi)),
  docs: pages([
    ...docs.filter((file) => !isApi(file) && !file.endsWith('/docs/style.md')),
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'].map((name) => join(root, name)),
  ]),
  deploy: pages(filesOf('deploy', /\.(md|ya?ml|json|tpl|txt)$/)),
}

/** The rules of docs/style.md that a pattern can find. */
const RULES = {
  'rule 3: begins with a headless clause': /^(what|who|whoever|where|how|which)\b/gi,
  'rule 4: a verb of people': /\b(told|tells|said|says|heard|asked)\b/gi,
  'rule 10: a word to avoid':
    /\b(anew|meanwhile|besides?|lately|so many|so long|thereof|of before|of now|is there|is away|in the place of)\b/gi,
  'half a sentence before a line that begins with a capital': /(?<![.:!?;|>`]["”)*_`]*)\n *(?=[A-Z])[^\n]{0,60}/g,
  'rule 12: a test name of more than 90 characters': /^[^]{91,}$/g,
} as const
type Rule = keyof typeof RULES

/** Matches that each area still may have. Lower a number after rewriting; never raise one. */
const ALLOWED: Readonly<Record<Rule, Readonly<Partial<Record<Area, number>>>>> = {
  'rule 3: begins with a headless clause': { src: 2, ui: 0, tests: 0 },
  'half a sentence before a line that begins with a capital': { docs: 0, api: 0 },
  'rule 4: a verb of people': { src: 3, ui: 0, messages: 7, tests: 0, changelog: 0, api: 3, docs: 1, deploy: 0 },
  'rule 10: a word to avoid': { src: 3, ui: 0, messages: 6, tests: 1, changelog: 0, api: 4, docs: 1, deploy: 0 },
  'rule 12: a test name of more than 90 characters': { tests: 2 },
}

const found = (rule: Rule, area: Area): readonly string[] =>
  prose[area].flatMap(({ place, text }) =>
    [...text.matchAll(RULES[rule])].map(([match]) => `${place}: ${match.trim().slice(0, 100)}`),
  )

await t.test('each area of the source has texts that are checked', async (t) => {
  for (const area of ['src', 'ui', 'messages', 'tests', 'api', 'docs'] as const)
    t.ok(prose[area].length > 400, `${area}: ${prose[area].length}`)
})

for (const rule of Object.keys(RULES) as readonly Rule[])
  for (const [area, allowed] of Object.entries(ALLOWED[rule]) as readonly [Area, number][])
    await t.test(`texts of the area "${area}" keep ${rule}`, async (t) => {
      const places = found(rule, area)
      t.comment(`${area}, ${rule}: ${places.length} of ${allowed}`)
      if (places.length > allowed)
        t.fail(`${places.length} matches, allowed: ${allowed}. Rewrite the new ones (docs/style.md)`, { places })
    })
