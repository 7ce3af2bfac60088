import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LONG, runsOnServers, SUITES, type Suite, suiteOf } from './suites.ts'

/**
 * `node dist/test/ci/tap.js <suite>… [option]…` runs the test files of the suites. `cluster` is the suite of those that
 * are run again on the stack of servers. Options are those of `files.ts`. The run has a temporary folder of its own,
 * which is removed at the end. The files of the suite `browser` share one Chromium. A process that outlives the run is
 * ended, and fails it.
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

/** Ends the processes of a group that still live; gives their command lines where the system tells them. */
const endLeft = (group: number): readonly string[] => {
  try {
    process.kill(-group, 0)
  } catch {
    return []
  }
  const left = existsSync('/proc')
    ? readdirSync('/proc').flatMap((id) => {
        try {
          if (Number(/^\d+ \(.*\) \S (?:\d+) (\d+)/.exec(readFileSync(`/proc/${id}/stat`, 'utf8'))?.[1]) !== group)
            return []
          const line = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
          return line === '' ? [] : [line]
        } catch {
          return []
        }
      })
    : ['a process of the run']
  process.kill(-group, 'SIGKILL')
  return left
}

if (suites.length === 0) {
  console.error(`usage: node dist/test/ci/tap.js <${[...SUITES, CLUSTER].join('|')}>… [option]…`)
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'rollcall-run-'))
process.env['TMPDIR'] = folder

/** The Chromium that the files of the run share, where they need one and the machine has it. */
const startChromium = async () => {
  if (!suites.includes('browser')) return undefined
  const { serveChromium, skip } = await import('../ui/chromium.ts')
  return skip === false ? serveChromium() : undefined
}
const chromium = await startChromium()
// Real servers take long to start on a busy machine.
const patience = suites.includes('real') ? ['--jobs=2', '--timeout=900'] : []
const file = resolve(import.meta.dirname, 'files.js')
const child = spawn(process.execPath, [file, ...patience, ...options, ...ofSuites()], {
  cwd: root,
  env: {
    ...process.env,
    // What one process has compiled, the next need not compile again.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    ...chromium?.env,
    ...(suites.includes(CLUSTER) && { ROLLCALL_TEST_STACK: CLUSTER }),
  },
  stdio: 'inherit',
  // A group of its own: what is left of it at the end is found by its number.
  detached: true,
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => process.kill(-child.pid!, signal))
const [code] = (await once(child, 'close')) as [number | null]
await chromium?.server.close()
const left = [child.pid!, ...(chromium ? [chromium.server.process().pid!] : [])].flatMap((group) => endLeft(group))
for (const line of left) console.error(`# outlived the tests: ${line}`)
rmSync(folder, { recursive: true, force: true })
process.exitCode = left.length > 0 ? 1 : (code ?? 1)
