import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LONG, runsOnServers, SUITES, type Suite, suiteOf } from './suites.ts'

/**
 * `node dist/test/ci/tap.js <suite>… [option]…` runs the test files of the suites. `cluster` is the suite of files that
 * run again on the stack of servers. Options are those of `files.ts`. The run has its own temporary folder, removed at
 * the end. Files of most suites share processes (docs/decisions/0042). A process that outlives the run is killed, and fails it.
 */
const root = resolve(import.meta.dirname, '../../..')
const given = process.argv.slice(2)
const CLUSTER = 'cluster'
const isSuite = (word: string): word is Suite | typeof CLUSTER => [...SUITES, CLUSTER].includes(word)
const suites = given.filter(isSuite)
const options = given.filter((word) => !isSuite(word))

const isMember = (file: string): boolean =>
  suites.includes(suiteOf(file)) || (suites.includes(CLUSTER) && runsOnServers(file))
const ofSuites = (): readonly string[] => {
  const files = readdirSync(resolve(root, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => file.slice(0, -'.test.js'.length))
    .filter(isMember)
    .toSorted()
  const long = LONG.filter((file) => files.includes(file))
  return [...long, ...files.filter((file) => !long.includes(file))].map((file) => `dist/test/${file}.test.js`)
}

type Left = { readonly group: number; readonly line: string }

/** Running processes, if the system lists them. */
const processes = (): readonly Left[] =>
  readdirSync('/proc').flatMap((id) => {
    try {
      const group = Number(/^\d+ \(.*\) \S (?:\d+) (\d+)/.exec(readFileSync(`/proc/${id}/stat`, 'utf8'))?.[1])
      const line = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return line === '' ? [] : [{ group, line }]
    } catch {
      return []
    }
  })

const isThere = (group: number): boolean => {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}

/**
 * Kills the remaining processes of a run and returns their command lines. A Chromium has its own process group and is
 * found by its folder.
 */
const endLeft = (group: number, folder: string): readonly string[] => {
  const known = existsSync('/proc') ? processes() : isThere(group) ? [{ group, line: 'a process of the run' }] : []
  const left = known.filter((each) => each.group === group || each.line.includes(`--user-data-dir=${folder}`))
  for (const each of new Set(left.map((each) => each.group))) process.kill(-each, 'SIGKILL')
  return left.map(({ line }) => line)
}

if (suites.length === 0) {
  console.error(`usage: node dist/test/ci/tap.js <${[...SUITES, CLUSTER].join('|')}>… [option]…`)
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'rollcall-run-'))
process.env['TMPDIR'] = folder

// Real servers start slowly on a busy machine.
const patience = suites.includes('real') ? ['--jobs=2', '--timeout=900'] : []
// Files of these suites change nothing that outlives them, and loading their imports takes up to half of their work.
const SHARING: readonly string[] = ['unit', 'service', 'browser', CLUSTER]
const together = suites.every((suite) => SHARING.includes(suite)) ? ['--together'] : []
const file = resolve(import.meta.dirname, 'files.js')
const child = spawn(process.execPath, [file, ...patience, ...together, ...options, ...ofSuites()], {
  cwd: root,
  env: {
    ...process.env,
    // Processes share compiled code.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    ...(suites.includes(CLUSTER) && { ROLLCALL_TEST_STACK: CLUSTER }),
  },
  stdio: 'inherit',
  // Own process group, by which remaining processes are found.
  detached: true,
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => process.kill(-child.pid!, signal))
const [code] = (await once(child, 'close')) as [number | null]
const left = endLeft(child.pid!, folder)
for (const line of left) console.error(`# outlived the tests: ${line}`)
rmSync(folder, { recursive: true, force: true })
process.exitCode = left.length > 0 ? 1 : (code ?? 1)
