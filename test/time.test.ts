import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { root } from './root.ts'

/** Sources of time (docs/decisions/0033). */
const src = resolve(root, 'src')

/** Files that use the system clock or its timers, each with the reason. */
const ownTime: Readonly<Record<string, string>> = {
  'base/clock.ts': 'it is the clock of the machine',
  'base/event-loop.ts': 'pacer measures how long this process holds the event loop',
  'auth/oidc/discovery.ts':
    'the OpenID library reads the clock of the machine by itself, and takes the difference to ours',
}
/** Composition roots, which use the system clock. */
const roots = [
  'main.ts',
  'app/start.ts',
  'app/offline/offline.ts',
  'app/migrate/migrate.ts',
  'app/as-of-thread/thread.ts',
  'adapters/embedded/writer/writer.ts',
]
const TIME =
  /\b(setTimeout|setInterval|clearTimeout|clearInterval|scheduler\.wait|Atomics\.wait|performance\.\w+|hrtime|cpuUsage|threadCpuUsage|eventLoopUtilization|monitorEventLoopDelay|Date\.now|AbortSignal\.timeout)\b|new Date\(\)/

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
const codeOf = (file: string): string => withoutComments(readFileSync(resolve(src, file), 'utf8'))

await t.test('all time in the source comes from a clock that is passed in', (t) => {
  for (const file of files.filter((each) => !(each in ownTime)))
    t.equal(TIME.exec(codeOf(file))?.[0], undefined, `${file}: take a Clock instead`)
  for (const file of Object.keys(ownTime)) t.match(codeOf(file), TIME, `${file} is no exception any more`)
  t.end()
})

await t.test('only the files that assemble a process use the system clock', (t) => {
  const naming = files.filter((file) => file !== 'base/clock.ts' && codeOf(file).includes('systemClock'))
  t.strictSame(naming.toSorted(), roots.toSorted())
  t.end()
})

/** Folder of tests and stand-ins. */
const tests = resolve(root, 'test')

/**
 * Pattern of waiting for real time or measuring it; a custom `sleep` needs one of these. The present time may only
 * become the time of a fixture (`Date.now() + 60_000`), or a seed.
 */
const PASSING = new RegExp(
  [
    String.raw`\b(?:setTimeout|setInterval|waitForTimeout|scheduler\.wait|Atomics\.wait|AbortSignal\.timeout)\b`,
    String.raw`\b(?:performance\.\w+|hrtime|cpuUsage|threadCpuUsage|eventLoopUtilization|monitorEventLoopDelay)\b`,
    String.raw`\bsystemClock\.(?:sleep|after|every|timeout|monotonic)\b`,
    String.raw`import (?!\{ setImmediate \} )[^']*'(?:node:)?timers(?:\/promises)?'`,
    String.raw`\bDate\.now\(\)(?! *[+/%])|(?:-|<|[^=]>|[!=]==) *Date\.now\(\)`,
    String.raw`\+new Date\b|new Date\(\)\.(?:getTime|valueOf)\b|(?:-|<|[^=]>) *new Date\(\)`,
    String.raw`'sleep'|\bsleep \d`,
    // The only time limit of a test is the one of its file.
    String.raw`\btimeout: ?\d`,
  ].join('|'),
)

/** Test files that wait for real time or compare it, each with the reason. */
const realTime: Readonly<Record<string, string>> = {
  'wait.ts': 'it looks again and again, for as long as the file may run',
  'start.ts': 'a service on the clock of the machine comes to its next millisecond',
  'time.test.ts': 'it has the rule',
  'virtual-clock.test.ts': 'the clock of the machine keeps the promises of the other',
  'ci/files.ts': 'it reports how long all files ran',
  'ci/processes.ts': 'it ends a file that cannot end itself, and reports how long each ran',
  'ci/together.ts': 'it sets the time limit of each file',
  'ci/suite.ts': 'it reports how long a suite ran',
  'ci/suite.test.ts': 'it writes a test file that hangs',
  'crash/child.ts': 'it stays until it is killed',
  'adapters/bullmq/lock-timer.test.ts': 'it lists the timers that a library sets, and waits for none',
  'ui/typed-ahead.test.ts': 'it holds the timers of the page, and waits for none',
  'adapters/bullmq/hanging-worker.ts': 'it stays until it is killed',
}
/** Ways to wait for real time or to measure it. */
const ways = [
  'performance.now() - began',
  'process.hrtime.bigint()',
  'process.cpuUsage(before)',
  'process.threadCpuUsage()',
  'const began = Date.now()',
  'Date.now() - began < 500',
  'end - Date.now()',
  'new Date().getTime() - began',
  '+new Date() - began',
  'began < new Date()',
  'await systemClock.sleep(5)',
  'systemClock.monotonic() - began',
  "import { setTimeout as sleep } from 'node:timers/promises'",
  "import timers from 'node:timers'",
  'scheduler.wait(5)',
  'Atomics.wait(cell, 0, 0, 5)',
  'page.waitForTimeout(5)',
  'AbortSignal.timeout(5)',
  "execFileSync('sleep', ['1'])",
  'await t.test(name, { timeout: 60_000 }, work)',
]
/** Uses of the present time that measure nothing. */
const fixtures = ['new Date(Date.now() + 60_000)', 'Date.now() % 1_000_000', 'virtualClock(new Date().toISOString())']

await t.test('the rule finds each way to wait or to measure, and no fixture', (t) => {
  for (const way of ways) t.match(way, PASSING)
  for (const fixture of fixtures) t.notMatch(fixture, PASSING)
  t.end()
})

await t.test('no test waits for real time or compares it', (t) => {
  const all = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const found = (file: string) => PASSING.exec(withoutComments(readFileSync(resolve(tests, file), 'utf8')))?.[0]
  const excepted = Object.keys(realTime)
  for (const file of all.filter((each) => !excepted.includes(each)))
    t.equal(found(file), undefined, `${file}: move a virtual clock, or wait for what is to be seen (test/wait.ts)`)
  for (const file of excepted) t.not(found(file), undefined, `${file} is no exception any more`)
  t.end()
})
