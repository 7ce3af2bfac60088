import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')

/** A passage of prose, and the place that a failure names. */
type Prose = { readonly place: string; readonly text: string }
type Area = 'src' | 'ui' | 'tests' | 'changelog'

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

const prose: Readonly<Record<Area, readonly Prose[]>> = {
  src: passages(filesOf('src', /\.ts$/), COMMENT),
  ui: passages(filesOf('ui/src', /\.tsx?$/), COMMENT),
  tests: passages(filesOf('test', /\.test\.ts$/), TEST_NAME),
  changelog: [...filesOf('changelog', /\.md$/), join(root, 'CHANGELOG.md')].map((file) => ({
    place: relative(root, file),
    text: readFileSync(file, 'utf8'),
  })),
}

/** The rules of docs/style.md that a pattern can find. */
const RULES = {
  'rule 3: begins with a headless clause': /^(what|who|whoever|where|how|which)\b/gi,
  'rule 4: a verb of people': /\b(told|tells|said|says|heard|asked)\b/gi,
  'rule 10: a word to avoid':
    /\b(anew|meanwhile|besides?|lately|so many|so long|thereof|of before|of now|is there|is away|in the place of)\b/gi,
  'rule 12: a test name of more than 90 characters': /^[^]{91,}$/g,
} as const
type Rule = keyof typeof RULES

/** Matches that each area still may have. Lower a number after rewriting; never raise one. */
const ALLOWED: Readonly<Record<Rule, Readonly<Partial<Record<Area, number>>>>> = {
  'rule 3: begins with a headless clause': { src: 2, ui: 0, tests: 0 },
  'rule 4: a verb of people': { src: 3, ui: 0, tests: 0, changelog: 0 },
  'rule 10: a word to avoid': { src: 4, ui: 0, tests: 1, changelog: 0 },
  'rule 12: a test name of more than 90 characters': { tests: 2 },
}

const found = (rule: Rule, area: Area): readonly string[] =>
  prose[area].flatMap(({ place, text }) =>
    [...text.matchAll(RULES[rule])].map(([match]) => `${place}: ${match.slice(0, 100)}`),
  )

await t.test('each area of the source has texts that are checked', async (t) => {
  for (const area of ['src', 'ui', 'tests'] as const) t.ok(prose[area].length > 400, `${area}: ${prose[area].length}`)
})

for (const rule of Object.keys(RULES) as readonly Rule[])
  for (const [area, allowed] of Object.entries(ALLOWED[rule]) as readonly [Area, number][])
    await t.test(`texts of the area "${area}" keep ${rule}`, async (t) => {
      const places = found(rule, area)
      t.comment(`${area}, ${rule}: ${places.length} of ${allowed}`)
      if (places.length > allowed)
        t.fail(`${places.length} matches, allowed: ${allowed}. Rewrite the new ones (docs/style.md)`, { places })
    })
