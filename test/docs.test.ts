import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { fragmentOf, fragments, section } from '../docs/changelog.ts'
import { made } from '../docs/make.ts'
import { root } from './root.ts'

for (const [path, text] of Object.entries(made)) {
  await t.test(`${path} is the present output of docs/make.ts`, async (t) => {
    t.equal(readFileSync(resolve(root, path), 'utf8'), text(), 'npm run docs writes it again')
  })
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'changelog/README.md']
for (const name of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.md')) pages.push(join('docs', name))

await t.test('every file that a page links to or names exists', (t) => {
  for (const page of pages) {
    const text = read(page).replaceAll(/```.*?```/gs, '')
    for (const [, link] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      if (!existsSync(join(root, dirname(page), link!))) t.fail(`${page} links to ${link}`)
    for (const [, path] of text.matchAll(/`((?:[\w.-]+\/)*[\w-]+(?:\.test)?\.[jt]s|(?:[a-z][\w.-]*\/)+)`/g)) {
      const places = [root, join(root, 'src'), join(root, 'docs')]
      if (!places.some((place) => existsSync(join(place, path!)))) t.fail(`${page} names ${path}`)
    }
  }
  t.ok(pages.length > 20)
  t.end()
})

await t.test('the list of guides has every guide once, with its title', (t) => {
  const rows = read('docs/guides/README.md').matchAll(/^\| (\[[^\]]+\]\([\w-]+\.md\)) \|/gm)
  const names = readdirSync(join(root, 'docs/guides')).filter((name) => name !== 'README.md')
  const links = names.map((name) => `[${/^# (.*)$/m.exec(read(`docs/guides/${name}`))![1]}](${name})`)
  t.strictSame([...rows].map(([, link]) => link!).toSorted(), links.toSorted())
  t.end()
})

await t.test('the list of decisions has every decision with title and status', (t) => {
  const list = read('docs/decisions/README.md')
  const names = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d/.test(name))
  for (const name of names) {
    const [, number, title, status] = /^# (\d{4}) (.*)\n\nStatus: (.*)\n/.exec(read(`docs/decisions/${name}`))!
    t.ok(list.includes(`| ${number} | [${title}](${name}) | ${status} |`), name)
  }
  t.equal(list.split('\n').filter((line) => /^\| \d/.test(line)).length, names.length)
  t.end()
})

await t.test('each entry for the changelog has a kind and one line of text', (t) => {
  for (const { name, line } of fragments()) t.ok(line.length <= 160, `changelog/${name} has at most 160 characters`)
  t.throws(() => fragmentOf('a.md', 'added: a thing\n'), /expected a line "kind: …"/)
  t.throws(() => fragmentOf('a.md', 'kind: added\none\ntwo\n'), /one line of text/)
  t.throws(() => fragmentOf('a.md', 'kind: removed\nA thing.\n'), /kind "removed" is none of/)
  const all = [fragmentOf('a.md', 'kind: fixed\nA fault.\n'), fragmentOf('b.md', 'kind: added\nA thing.\n')]
  t.equal(section(all), '### Added\n\n- A thing.\n\n### Fixed\n\n- A fault.\n')
  t.end()
})
