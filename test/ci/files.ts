import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Ran, runAlone, startTogether } from './processes.ts'
import { failures, skipReasons } from './tap-output.ts'

/**
 * `node dist/test/ci/files.js [option]… <test file>…` runs test files, and writes what they
 * say as one text of TAP; to a terminal only what failed. tap's own runner costs each process a third more: it gives
 * every one a loader that looks at each module.
 *
 * `--jobs`: so many at once. `--timeout`: seconds that a file may take. `--save`: a list of test files; where it has some,
 * they are run instead of those given, and at the end it has those that failed. `--bail`: nothing is begun after a failure.
 * `--only`: of each file the tests that say `t.only`. `--together`: a process runs one file after the other, until one fails;
 * a list of saved files is run each alone all the same.
 *
 * `ROLLCALL_TEST_COVERAGE` names a folder. Tests of the rooms without servers write their coverage there, and `c8 report` reads it.
 */
const { values, positionals: given } = parseArgs({
  allowPositionals: true,
  options: {
    // Tests of services, pages and servers wait for those often: three files at once keep two cores busy.
    jobs: { type: 'string', default: '3' },
    timeout: { type: 'string', default: '300' },
    save: { type: 'string' },
    bail: { type: 'boolean', default: false },
    only: { type: 'boolean', default: false },
    together: { type: 'boolean', default: false },
  },
})
const saved = (list: string): readonly string[] =>
  existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
const listed = values.save === undefined ? [] : saved(values.save)
const files = listed.length > 0 ? listed : given
const [jobs, timeout] = [Number(values.jobs), Number(values.timeout)]
if (files.length === 0 || !(jobs >= 1) || !(timeout > 0)) {
  console.error(
    'usage: node dist/test/ci/files.js [--jobs=N] [--timeout=S] [--save=FILE] [--bail] [--only] [--together] <test file>…',
  )
  process.exit(2)
}
/** A file ends itself at its time limit, and says what it waited for. One that cannot is ended so much later. */
const GRACE_MS = 10_000
const limits = { file: timeout * 1_000 + GRACE_MS, rest: GRACE_MS }
const env = {
  ...process.env,
  TAP_TIMEOUT: String(timeout),
  ...(values.bail && { TAP_BAIL: '1' }),
  ...(values.only && { TAP_ONLY: '1' }),
}

const ROOMS = /^dist\/test\/(?:auth|commands|config|evaluation|events|jobs|projections)\//
const coverage = process.env['ROLLCALL_TEST_COVERAGE']
/** What the cache of compiled code holds is measured less exactly. */
const measured = { NODE_V8_COVERAGE: coverage, NODE_DISABLE_COMPILE_CACHE: '1' }
const envOf = (file: string) => (coverage !== undefined && ROOMS.test(file) ? { ...env, ...measured } : env)

const indented = (text: string): string => text.replace(/^(?=.)/gm, '    ')

const total = { pass: 0, fail: 0, skip: 0 }
const skipped = new Map<string, number>()
const failed: string[] = []
let ended = 0

const write = (file: string, { stdout, stderr, counted, end, milliseconds }: Ran): void => {
  const ok = !end && counted?.fail === 0
  for (const key of ['pass', 'fail', 'skip'] as const) total[key] += counted?.[key] ?? 0
  for (const [reason, tests] of skipReasons(stdout)) skipped.set(reason, (skipped.get(reason) ?? 0) + tests)
  if (!ok) failed.push(file)
  if (!ok && !counted?.fail) total.fail++
  const shown = process.stdout.isTTY ? failures(stdout).flatMap(({ lines }) => lines) : [stdout.trimEnd()]
  const parts = [
    `# Subtest: ${file}`,
    ...shown.map(indented),
    ...(stderr === '' ? [] : [indented(stderr.trimEnd().replace(/^/gm, '# '))]),
    `${ok ? 'ok' : 'not ok'} ${++ended} - ${file} # time=${milliseconds.toFixed(3)}ms`,
    ...(ok ? [] : ['  ---', typeof end === 'string' ? `  ended: ${end}` : `  exitCode: ${end}`, '  ...']),
  ]
  console.log(parts.join('\n'))
}

const start = performance.now()
const waiting = [...files]
const next = (): string | undefined => (values.bail && failed.length > 0 ? undefined : waiting.shift())
const eachAlone = async () => {
  for (let file = next(); file !== undefined; file = next()) write(file, await runAlone(file, envOf(file), limits))
}
const eachTogether = async () => {
  let runner: ReturnType<typeof startTogether> | undefined
  let last = ''
  for (let file = next(); file !== undefined; file = next()) {
    if (!runner || runner.hasEnded()) runner = startTogether(env, limits)
    write((last = file), await runner.run(file))
  }
  if (!runner || runner.hasEnded()) return
  // What keeps a process from its end, or fails it there, is told of the file before.
  const ran = await runner.end()
  if (ran.end !== 0) write(last, ran)
}
const work = values.together && listed.length === 0 ? eachTogether : eachAlone
console.log('TAP version 14')
await Promise.all(Array.from({ length: jobs }, work))
if (values.save !== undefined) writeFileSync(values.save, failed.map((file) => `${file}\n`).join(''))
const { pass, fail, skip } = total
for (const file of failed) console.log(`# failed: ${file}`)
for (const [reason, tests] of skipped) console.log(`# skipped: ${tests} × ${reason || 'no reason given'}`)
console.log(`1..${ended}\n# { total: ${pass + fail + skip}, pass: ${pass}, fail: ${fail}, skip: ${skip} }`)
console.log(`# time=${(performance.now() - start).toFixed(3)}ms`)
process.exitCode = failed.length === 0 ? 0 : 1
