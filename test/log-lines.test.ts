import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from './root.ts'

/** Pages that quote log lines: the guides, the contract, and the actions of alerts. */
const pages = [
  ...['docs/guides', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  ),
  'deploy/alerts.yml',
]
/** Generated pages, and the page of the rules for these texts. */
const EXCEPT = ['docs/config.md', 'docs/events.md', 'docs/errors.md', 'docs/login-causes.md', 'docs/style.md']

/** A line that speaks of the log, or a row of the table of its fields. */
const ABOUT_LOG = /\b(?:WARN|ERROR|INFO)\b|\blog (?:line|has|names)|^\| `\w+`(?:, `\w+`)* \| `/
/** A quoted message: at least three words of prose, no command and no code. */
const MESSAGE = /^(?!rollcall (?!ends\b|is\b|was\b|has\b))[A-Za-z][a-z]*(?:[,:;]? [A-Za-z'-]+){2,}(?:[,:;.]?(?: …)?)$/

const quotedIn = (line: string): readonly string[] =>
  ABOUT_LOG.test(line)
    ? Array.from(line.matchAll(/`([^`]+)`/g), ([, text]) => text!).filter((text) => MESSAGE.test(text))
    : []

/** Texts in the source. A template is the list of its fixed parts. */
const literals = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => {
    const source = readFileSync(join(root, 'src', file), 'utf8')
    return Array.from(
      source.matchAll(/'((?:[^'\\\n]|\\.)+)'|"([^"\n]+)"|`((?:[^`\\]|\\.)+)`/g),
      ([, one, two, template]) => (one ?? two ?? template)!.split(/\$\{[^}]*\}/),
    )
  })

/** Fewest letters of a template that a quotation must repeat. */
const LEAST = 10

/** Returns true if a quotation is the end of one fixed part, a value, and the begin of the next part or nothing. */
const bridges = (text: string, [before, after]: readonly [string, string]): boolean => {
  let [head, tail] = [0, 0]
  for (let n = 1; n < text.length; n++) {
    if (before.endsWith(text.slice(0, n))) head = n
    if (after.startsWith(text.slice(-n))) tail = n
  }
  if (head === before.length && head >= LEAST && !text.slice(head).includes(' ')) return true
  const isWhole = (before === '' || head > 0) && tail > 0
  return isWhole && head + tail >= LEAST && head + tail < text.length
}

const isWritten = (text: string): boolean =>
  literals.some(
    (parts) =>
      parts.some((part) => part.includes(text)) || parts.slice(1).some((after, n) => bridges(text, [parts[n]!, after])),
  )

const unwritten = (quotation: string): readonly string[] =>
  quotation
    .split('…')
    .map((piece) => piece.trim())
    .filter((piece) => piece !== '' && !isWritten(piece))

await t.test('every log line that a page quotes is in the source', (t) => {
  let quoted = 0
  for (const page of pages.filter((one) => !EXCEPT.includes(one)))
    for (const [n, line] of readFileSync(join(root, page), 'utf8').split('\n').entries())
      for (const quotation of quotedIn(line)) {
        quoted++
        t.strictSame(unwritten(quotation), [], `${page}:${n + 1}: ${quotation}`)
      }
  t.ok(quoted > 40, `${quoted} quotations`)
  t.end()
})

await t.test('the comparison finds a line that nobody writes', (t) => {
  t.strictSame(quotedIn('Watch for the ERROR line `the log is on fire; …`.'), ['the log is on fire; …'])
  t.strictSame(unwritten('the log is on fire; …'), ['the log is on fire;'])
  t.strictSame(unwritten('the ledger is diverged; …'), [])
  t.strictSame(unwritten('a login was refused'), [])
  t.strictSame(quotedIn('An ERROR line; run `rollcall log check` on `{a: b}`.'), [])
  t.end()
})
