import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Ran, runAlone, startTogether } from './processes.ts'
import { ALONE } from './suites.ts'
import { failures, skipReasons } from './tap-output.ts'

/**
 * `node dist/test/ci/files.js [option]… <test file>…` runs test files and writes their output as one TAP text; to a
 * terminal only failures. The runner of tap costs each process a third more, because its loader processes each module.
 * `--jobs`: number of concurrent files. `--timeout`: time limit per file in seconds. `--save`: file with a list of test
 * files; if not empty, these run instead of the given ones, and at the end it contains the failed ones. `--bail`:
 * starts no file after a failure. `--only`: runs only tests with `t.only`. `--together`: one process runs one file
 * after another until one fails; saved files and those of `ALONE` run alone.
 * `ROLLCALL_TEST_COVERAGE`: folder for the coverage of tests without servers, read by `c8 report`.
 */
const { values, positionals: given } = parseArgs({
  allowPositionals: true,
  options: {
    // Tests of services, pages and servers often wait, so three files at once use two cores.
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
/** A file ends itself at its time limit and reports its pending work. It is killed after this additional time. */
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
/** Coverage is less exact with the compile cache. */
const measured = { NODE_V8_COVERAGE: coverage, NODE_DISABLE_COMPILE_CACHE: '1' }
const envMeasured = { ...env, ...measured }
const envOf = (file: string) => (coverage !== undefined && ROOMS.test(file) ? envMeasured : env)

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
/** Files in processes of their own, although the others run together. */
const alone = new Set(ALONE.map((name) => `dist/test/${name}.test.js`))
const eachTogether = async () => {
  let runner: { readonly of: ReturnType<typeof startTogether>; readonly env: NodeJS.ProcessEnv } | undefined
  let last = ''
  const end = async () => {
    if (!runner || runner.of.hasEnded()) return
    // A failure at the end of a process is attributed to its last file.
    const ran = await runner.of.end()
    if (ran.end !== 0) write(last, ran)
  }
  for (let file = next(); file !== undefined; file = next()) {
    const wanted = envOf(file)
    if (alone.has(file)) {
      write(file, await runAlone(file, wanted, limits))
      continue
    }
    if (runner?.env !== wanted) await end()
    if (!runner || runner.of.hasEnded()) runner = { of: startTogether(wanted, limits), env: wanted }
    write((last = file), await runner.of.run(file))
  }
  await end()
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
