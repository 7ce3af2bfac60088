import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'
import { root } from '../root.ts'

const ui = resolve(root, 'ui/src')
const files = readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
const read = (name: string) => readFileSync(resolve(ui, name), 'utf8')
/** Allowed packages of the bundle; a new one needs a decision. */
const packages = [
  'react',
  'react-dom',
  '@base-ui/react',
  '@tanstack/react-router',
  '@tanstack/react-query',
  '@noble/hashes',
  '@primer/octicons-react',
]

/** Modules of texts, and of the parts that texts name, that service and UI share. */
const WORDS = ['contract/answers.ts', 'contract/changed-items.ts', 'base/login-causes.ts']

await t.test('the UI imports types and texts of the API, code of the verifier, and allowed packages', (t) => {
  const shared = new Set<string>()
  for (const name of files)
    for (const [, type, target] of read(name).matchAll(/^import( type)?[^;'"]*?'([^']+)'/gm)) {
      if (!target!.startsWith('.')) {
        const [scope = '', rest = ''] = target!.split('/')
        t.ok(packages.includes(scope.startsWith('@') ? `${scope}/${rest}` : scope), `${name} imports ${target}`)
        continue
      }
      const path = resolve(ui, dirname(name), target!)
      if (path.startsWith(`${ui}/`)) continue
      const inside = relative(resolve(ui, '../../src'), path)
      if (WORDS.includes(inside)) continue
      t.match(inside, /^(?:contract|verifier)\//, `${name} imports ${target}`)
      if (type !== undefined) continue
      t.match(inside, /^verifier\//, `${name} imports types of ${target} alone`)
      shared.add(inside)
    }
  for (const inside of shared) {
    const text = readFileSync(resolve(ui, '../../src', inside), 'utf8')
    t.notMatch(text, /'node:|\bBuffer\b/, `${inside} runs in a browser`)
    for (const [, target] of text.matchAll(/^import (?!type )[^;'"]*?'([^']+)'/gm))
      if (!target!.endsWith('/platform.ts')) shared.add(join(dirname(inside), target!))
  }
  for (const inside of WORDS) {
    const words = readFileSync(resolve(ui, '../../src', inside), 'utf8')
    t.notMatch(words, /^import (?!type )/m, `the words of ${inside} bring nothing else along`)
  }
  t.end()
})

await t.test('components contain no texts, because all texts are in words/', (t) => {
  for (const name of files.filter((name) => name.endsWith('.tsx'))) {
    const text = read(name)
    const between = [...text.matchAll(/(?<!=)>([^<>{}]*\p{L}{2}[^<>{}]*)<\//gu)].map(([, words]) => words!.trim())
    const named = [...text.matchAll(/\b(?:aria-label|title|label|placeholder)="([^"]+)"/g)].map(([, words]) => words!)
    t.strictSame([...between, ...named], [], name)
  }
  t.end()
})

await t.test('each name of a text is used by the UI, or is a word of the API', (t) => {
  const outside = files.filter((name) => !name.startsWith('words/'))
  const api = ['access', 'base', 'config', 'contract', 'evaluation'].flatMap((room) => {
    const path = resolve(root, 'src', room)
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    return names.map((name) => readFileSync(resolve(path, name), 'utf8'))
  })
  // A name in words/ stands in front of a colon where it is defined, and nowhere else.
  const definitions = /(?<=^\s+|[{,]\s*)(\w+):/gm
  const words = files.filter((name) => name.startsWith('words/')).map(read)
  const used = new Set(
    [...outside.map(read), ...words.map((text) => text.replaceAll(definitions, ''))].flatMap(
      (text) => text.match(/\w+/g) ?? [],
    ),
  )
  for (const text of api)
    for (const [word] of text.matchAll(/(?<=')\w+(?=')|(?<=^\s+|[{,]\s*)\w+(?=:)/gm)) used.add(word)
  const unused = words.flatMap((text) => Array.from(text.matchAll(definitions), ([, name]) => name!))
  t.ok(unused.length > 500)
  t.strictSame(
    unused.filter((name) => !used.has(name)),
    [],
  )
  t.end()
})

await t.test('UI code never turns text into markup or code, and one function sends all requests', (t) => {
  for (const name of files) {
    t.notMatch(read(name), /dangerouslySetInnerHTML|innerHTML|\beval\(|document\.write|new Function/, name)
    // The page itself is not fetched by the API function because it is not JSON.
    if (!['api/request.ts', 'api/released.ts'].includes(name))
      t.notMatch(read(name), /\bfetch\(|XMLHttpRequest|EventSource|WebSocket/, name)
    if (name !== 'preferences.ts') t.notMatch(read(name), /localStorage|sessionStorage|document\.cookie/, name)
  }
  t.end()
})

await t.test('a UI file has at most 200 lines and a name in kebab case', (t) => {
  for (const name of files) {
    const lines = read(name).split('\n').length - 1
    t.ok(lines <= 200, `${name} has ${lines} lines`)
    for (const part of name.replace(/\.tsx?$/, '').split('/')) t.match(part, /^[a-z0-9]+(-[a-z0-9]+)*$/, name)
  }
  t.end()
})
