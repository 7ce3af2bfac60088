import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { ofEvaluate, ofFlag, ofFlags, ofHistory, ofSegments, ofSettings, type Seeded } from './screens.ts'

const ui = resolve(import.meta.dirname, '../../../ui/src')
const table = readFileSync(resolve(ui, 'pages.ts'), 'utf8')
const valuesOf = (member: string) =>
  [...table.matchAll(new RegExp(`(?:^ +|[{,] )${member}: '([^']+)'`, 'gm'))].map(([, value]) => value!)

await t.test('every page in the table has a screen that the access tests check', (t) => {
  const seeds: Seeded = { at: '1', made: '1', token: 'id', session: 'id' }
  const screens = [...ofFlags, ...ofFlag, ...ofSegments, ...ofEvaluate, ...ofHistory, ...ofSettings]
    .map(({ path }) => (typeof path === 'string' ? path : path(seeds)))
    .map((address) => address.split('?')[0]!)
  const paths = valuesOf('path')
  t.ok(paths.length > 0)
  for (const path of paths) {
    const pattern = new RegExp(`^${path.replace(/\$\w+/g, '[^/]+')}$`)
    t.ok(
      screens.some((address) => pattern.test(address)),
      path,
    )
  }
  t.end()
})

await t.test('the list of shortcuts has the key of every page', (t) => {
  const words = readFileSync(resolve(ui, 'words/shortcuts.ts'), 'utf8')
  const keys = valuesOf('key')
  t.ok(keys.length > 0)
  t.strictSame(new Set(keys).size, keys.length, 'no two pages have the same key')
  for (const key of keys) t.ok(words.includes(`keys: ['g', '${key}']`), key)
  t.end()
})
