import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { made } from '../docs/make.ts'

const root = resolve(import.meta.dirname, '../..')

for (const [path, text] of Object.entries(made)) {
  await t.test(`${path} is what docs/make.ts makes`, async (t) => {
    t.equal(readFileSync(resolve(root, path), 'utf8'), text(), 'npm run docs writes it again')
  })
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md']
for (const name of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.md')) pages.push(join('docs', name))

await t.test('every file that a page links to or names is there', (t) => {
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

await t.test('the list of decisions has each of them, with its title and status', (t) => {
  const list = read('docs/decisions/README.md')
  const names = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d/.test(name))
  for (const name of names) {
    const [, number, title, status] = /^# (\d{4}) (.*)\n\nStatus: (.*)\n/.exec(read(`docs/decisions/${name}`))!
    t.ok(list.includes(`| ${number} | [${title}](${name}) | ${status} |`), name)
  }
  t.equal(list.split('\n').filter((line) => /^\| \d/.test(line)).length, names.length)
  t.end()
})
