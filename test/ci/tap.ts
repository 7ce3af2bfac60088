import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { SUITES, type Suite, suiteOf } from './suites.ts'

/**
 * `node dist/test/ci/tap.js <suite>… [option]…` runs tap on the test files of the suites. Options are tap's own. Where
 * `--save` names a file that lists test files, only those are run.
 */
const root = resolve(import.meta.dirname, '../../..')
const given = process.argv.slice(2)
const isSuite = (word: string): word is Suite => (SUITES as readonly string[]).includes(word)
const suites = given.filter(isSuite)
const options = given.filter((word) => !isSuite(word))

const saved = (): readonly string[] => {
  const save = options.find((option) => option.startsWith('--save='))?.slice('--save='.length)
  const file = save === undefined ? undefined : resolve(root, save)
  return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}
const ofSuites = (): readonly string[] =>
  readdirSync(resolve(root, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js') && suites.includes(suiteOf(file.slice(0, -'.test.js'.length))))
    .toSorted()
    .map((file) => `dist/test/${file}`)

if (suites.length === 0) {
  console.error(`usage: node dist/test/ci/tap.js <${SUITES.join('|')}>… [option of tap]…`)
  process.exit(2)
}
const files = saved().length > 0 ? saved() : ofSuites()
const child = spawn(resolve(root, 'node_modules/.bin/tap'), [...options, ...files], { cwd: root, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
child.on('close', (code, signal) => (process.exitCode = code ?? (signal ? 1 : 0)))
