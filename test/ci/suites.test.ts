import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import t from 'tap'
import { root } from '../root.ts'
import { ALONE, EMBEDDED, LONG, names, STORELESS, suiteOf } from './suites.ts'

const test = resolve(root, 'test')
const files = readdirSync(test, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.test.ts'.length))

/** Imports of a file: other files, and packages by name. */
const importsOf = (file: string) => {
  const all = [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name!)
  const isFile = (name: string) => name.startsWith('.') && name.endsWith('.ts')
  return {
    files: all.filter(isFile).map((name) => resolve(dirname(file), name)),
    packages: all.filter((name) => !name.startsWith('.')),
  }
}

/** Returns the files under `test` that a test file imports transitively, including itself. */
const reached = (file: string): readonly string[] => {
  const seen = new Set([file])
  for (const each of seen)
    for (const next of importsOf(each).files) if (next.startsWith(test) && existsSync(next)) seen.add(next)
  return [...seen]
}

/** Modules that start processes, open ports or drive a browser. */
const HEAVY = ['node:child_process', 'node:cluster', 'node:http', 'node:https', 'node:net', 'playwright-core']
const HELPERS = ['start.ts', 'adapters/servers.ts', 'stand-ins/eventstoredb/server.ts']

await t.test('every name in the table of suites is a file, or a folder that has files', async (t) => {
  for (const name of names)
    t.ok(
      files.some((file) => (name.endsWith('/') ? file.startsWith(name) : file === name)),
      name,
    )
  for (const name of [...LONG, ...ALONE, ...EMBEDDED, ...Object.keys(STORELESS)]) t.ok(files.includes(name), name)
})

await t.test('a unit test starts no process and opens no port', async (t) => {
  for (const file of files.filter((each) => suiteOf(each) === 'unit'))
    for (const part of reached(resolve(test, `${file}.test.ts`))) {
      const found = importsOf(part).packages.filter((name) => HEAVY.includes(name))
      const helper = HELPERS.find((name) => part === resolve(test, name))
      t.strictSame([found, helper], [[], undefined], `${file} by ${relative(test, part)}`)
    }
})

await t.test('all tests that use a browser are in the browser suite, except those with real servers', async (t) => {
  for (const file of files.filter((each) => suiteOf(each) !== 'real')) {
    const drives = reached(resolve(test, `${file}.test.ts`)).some((part) =>
      importsOf(part).packages.includes('playwright-core'),
    )
    t.equal(suiteOf(file) === 'browser', drives, file)
  }
})

await t.test('a test file that measures its process has a process of its own', async (t) => {
  const measures = /work\.ts'|process\.memoryUsage/
  t.strictSame(
    files.filter((file) => measures.test(readFileSync(resolve(test, `${file}.test.ts`), 'utf8'))).toSorted(),
    ALONE,
  )
})
