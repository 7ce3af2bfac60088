import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { heldCollections, heldIn } from './held-collections.ts'
import { root } from './root.ts'

const page = resolve(root, 'docs/bounds.md')
const NUMBER = /\d|\bone\b|`[\w.-]+`|^constant/
const FIVE_CELLS = 7

/** Rows of the table: file, collections, bound in number, bound in bytes, and holder. */
const rows = readFileSync(page, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

const namesIn = (cell = ''): readonly string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)

await t.test('docs/bounds.md lists each collection that may outlive a request, and no other', (t) => {
  const listed = rows.flatMap(([, file = '', names]) =>
    namesIn(names).map((name) => `${file.replaceAll('`', '')} ${name}`),
  )
  const held = heldCollections().map(({ file, name }) => `${file} ${name}`)
  t.ok(held.length > 100, `${held.length} collections`)
  t.strictSame(
    held.filter((one) => !listed.includes(one)),
    [],
    'without a row',
  )
  t.strictSame(
    listed.filter((one, n) => !held.includes(one) || listed.indexOf(one) !== n),
    [],
    'row without a collection, or twice',
  )
  t.end()
})

await t.test('each row of docs/bounds.md has a bound in number and in bytes', (t) => {
  for (const row of rows) {
    const [, file, names, number = '', bytes = '', holder = ''] = row
    const isComplete = row.length === FIVE_CELLS && bytes !== '' && holder !== '' && namesIn(names).length > 0
    t.ok(isComplete && (NUMBER.test(number) || bytes.includes('characters')), `${file} ${names}`)
  }
  t.end()
})

await t.test('a collection is found that a module, a closure, a listener or a record holds', (t) => {
  const held = {
    module: 'const known = new Map(); export const add = (key) => known.set(key, 1)',
    closure: 'export const cache = () => { const known = new Map(); return (key) => known.set(key, 1) }',
    method: 'export const cache = () => { const known = []; const add = (x) => known.push(x); return { add } }',
    variable: 'export const cache = () => { let known = []; return { add: (x) => (known = [...known, x]) } }',
    pair: 'export const cache = () => { let [n, known] = [0, []]; return (x) => { [n, known] = [n + 1, [x]] } }',
    index: 'export const cache = () => { const known = {}; return (key) => { known[key] = 1 } }',
    handed: 'export const cache = (f) => { const known = new Set(); return { add: f(known), size: () => known.size } }',
    listener: "export const collect = (socket) => { const known = []; socket.on('data', (x) => known.push(x)) }",
    record: 'export const state = () => ({ known: new Map() })',
    returned: 'export const state = () => { const known = new Map(); return { known } }',
    lru: 'export const cache = () => { const known = new LRUCache({ max: 1 }); return known }',
  }
  for (const [name, code] of Object.entries(held)) t.strictSame(heldIn(code), ['known'], name)
  const local = {
    loop: 'export const count = (xs) => { const seen = new Set(); for (const x of xs) seen.add(x); return seen.size }',
    callback: 'export const count = (xs) => { const seen = []; xs.forEach((x) => seen.push(x)); return seen }',
    table: "export const words = new Set(['a', 'b'])",
    constant: "export const decider = { quiet: new Set(['a']) }",
  }
  for (const [name, code] of Object.entries(local)) t.strictSame(heldIn(code), [], name)
  t.end()
})
