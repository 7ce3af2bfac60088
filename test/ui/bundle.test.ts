import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../root.ts'

/** Packages of the bundle. A new package must be added here and to the decision about the UI. */
const KNOWN = [
  '@base-ui/react',
  '@base-ui/utils',
  '@floating-ui/core',
  '@floating-ui/dom',
  '@floating-ui/react-dom',
  '@floating-ui/utils',
  '@noble/hashes',
  '@primer/octicons-react',
  '@tanstack/history',
  '@tanstack/query-core',
  '@tanstack/react-query',
  '@tanstack/react-router',
  '@tanstack/react-store',
  '@tanstack/router-core',
  '@tanstack/store',
  'react',
  'react-dom',
  'scheduler',
  'use-sync-external-store',
]

const built = resolve(root, 'dist/ui')
const assets = join(built, 'assets')
const names = readdirSync(assets)
const weight = (name: string) => gzipSync(readFileSync(join(assets, name)), { level: 9 }).length
const page = readFileSync(join(built, 'index.html'), 'utf8')
const kB = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`

/** Returns the script and its static imports. */
const withStatic = (first: string): ReadonlySet<string> => {
  const found = new Set([first])
  for (const name of found)
    for (const [, target] of readFileSync(join(assets, name), 'utf8').matchAll(
      /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g,
    ))
      found.add(target!)
  return found
}
const sum = (of: Iterable<string>) => [...of].reduce((total, name) => total + weight(name), 0)
const scripts = names.filter((name) => name.endsWith('.js'))

await t.test('the files of the UI stay within their limits of compressed size', (t) => {
  const entry = /src="ui\/assets\/([\w.-]+)"/.exec(page)![1]!
  const first = withStatic(entry)
  const list = scripts.find((name) => name.startsWith('flags-'))
  const toTheList = new Set([...first, ...(list ? withStatic(list) : [])])
  t.ok(sum(toTheList) <= 200_000, `scripts to the first list: ${kB(sum(toTheList))}`)
  t.ok(toTheList.size <= 8, `in ${toTheList.size} files`)
  t.ok(sum(scripts) <= 330_000, `all scripts: ${kB(sum(scripts))}`)
  const styles = names.filter((name) => name.endsWith('.css'))
  t.ok(sum(styles) <= 20_000, `styles: ${kB(sum(styles))}`)
  t.ok(Buffer.byteLength(page) <= 2000, `the page: ${Buffer.byteLength(page)} bytes`)
  for (const name of scripts.filter((name) => !first.has(name)))
    t.ok(weight(name) <= 60_000, `${name}: ${kB(weight(name))}`)
  t.end()
})

await t.test('each file of the UI has a hash of its content in its name, and compressed copies', (t) => {
  for (const name of names.filter((name) => /\.(js|css)$/.test(name))) {
    t.match(name, /^[\w.]+-[\w-]{8,}\.(js|css)$/)
    t.ok(names.includes(`${name}.br`) && names.includes(`${name}.gz`), name)
  }
  t.notMatch(
    page,
    /<script(?![^>]*src=)|<style|\son\w+=|javascript:|https?:/i,
    'nothing inline and nothing from elsewhere',
  )
  t.end()
})

await t.test('the UI contains only the allowed packages and their dependencies', (t) => {
  const held = new Map<string, number>()
  for (const name of scripts.filter((name) => names.includes(`${name}.map`))) {
    const map = JSON.parse(readFileSync(join(assets, `${name}.map`), 'utf8')) as {
      readonly sources: readonly string[]
      readonly sourcesContent: readonly (string | null)[]
    }
    for (const [n, source] of map.sources.entries()) {
      const found = [...source.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].at(-1)?.[1]
      if (found !== undefined) held.set(found, (held.get(found) ?? 0) + (map.sourcesContent[n]?.length ?? 0))
    }
  }
  t.strictSame([...held.keys()].toSorted(), KNOWN)
  for (const [name, bytes] of [...held].toSorted(([, one], [, other]) => other - one))
    t.comment(`${name}: ${kB(bytes)} of source`)
  t.end()
})
