import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { MAX_FLAKY, report } from './report.ts'
import { runSuite, type SuiteResult } from './suite.ts'

const root = resolve(import.meta.dirname, '../../..')

const passing = `import t from 'tap'; t.equal(1, 1); t.test('a skipped test', { skip: 'needs a hand' }, (t) => t.end())`
const failing = `import t from 'tap'; t.equal(1, 1); t.equal('left', 'right', 'both sides agree')`
/** Fails in its first run and passes in its second. */
const failingOnce = `
  import t from 'tap'
  import { existsSync, writeFileSync } from 'node:fs'
  const second = existsSync('ran')
  writeFileSync('ran', '')
  t.equal(1, 1)
  t.ok(second, 'the moon is full')`
const ending = `import t from 'tap'; t.equal(1, 1); process.exit(3)`
const hanging = `import t from 'tap'; t.equal(1, 1); await new Promise((never) => setInterval(never, 100_000_000))`

/** Command that runs test files like this project. */
const FILES = `node '${join(import.meta.dirname, 'files.js')}'`

/** Creates a project whose script `test` runs these files. */
const project = (t: Test, files: Readonly<Record<string, string>>, script = `${FILES} dist/test/*.test.js`) => {
  const cwd = mkdtempSync(join(tmpdir(), 'rollcall-ci-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'))
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ type: 'module', scripts: { test: script } }))
  mkdirSync(join(cwd, 'dist/test'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, 'dist/test', `${name}.test.js`), text)
  return cwd
}

const run = async (t: Test, files: Readonly<Record<string, string>>, script?: string) => {
  let output = ''
  const result = await runSuite('test', {
    cwd: project(t, files, script),
    env,
    write: (text) => {
      output += text
    },
  })
  return { result, output, ...report([result]) }
}

/** The environment without the settings that the tap around this test gives to its children. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^_?TAP/.test(name)))

const lastLine = (text: string) => text.split('\n').at(-1)

await t.test('a suite of tests that passes is run once', async (t) => {
  const { result, output, text, ok } = await run(t, { a: passing, b: passing })
  t.ok(ok)
  t.equal(lastLine(text), '2 passed, 0 failed, 2 skipped')
  t.match(text, 'skipped in test: 2 × needs a hand')
  t.notMatch(output, 'run once more')
  t.same(result.times.map(({ file }) => file).sort(), ['dist/test/a.test.js', 'dist/test/b.test.js'])
})

await t.test('a test file that passes on its second run is reported as flaky, with its first failure', async (t) => {
  const { result, text, ok } = await run(t, { a: passing, moon: failingOnce })
  t.ok(ok)
  t.equal(lastLine(text), '2 passed, 0 failed, 1 skipped')
  t.same(
    result.flaky.map(({ file }) => file),
    ['dist/test/moon.test.js'],
  )
  t.match(text, /FLAKY: dist\/test\/moon\.test\.js in test .*\ndist\/test\/moon\.test\.js: not ok 2 - the moon is full/)
})

await t.test('the run fails if a file fails twice, even among flaky files', async (t) => {
  const { text, ok } = await run(t, { moon: failingOnce, wrong: failing })
  t.notOk(ok)
  t.equal(lastLine(text), '2 passed, 1 failed, 0 skipped')
  t.match(text, /^FAILED in test\ndist\/test\/wrong\.test\.js: not ok 2 - both sides agree/m)
  t.match(text, /^FLAKY: dist\/test\/moon\.test\.js/m)
})

await t.test('the run fails if a test file ends its process or never ends', async (t) => {
  const { text, ok } = await run(t, { ending, hanging }, `${FILES} --timeout=5 dist/test/*.test.js`)
  t.notOk(ok)
  t.match(lastLine(text), /^\d passed, [23] failed, 0 skipped$/)
  t.match(text, 'dist/test/hanging.test.js: not ok')
  t.match(text, 'exitCode: 3')
})

/** Command that runs the files in one process, like the browser tests. */
const TOGETHER = `${FILES} --together --jobs=1 dist/test/*.test.js`
/** Writes the number of files that its process has started. */
const counting = (more = '') => `
  import t from 'tap'
  import { writeFileSync } from 'node:fs'
  globalThis.files = (globalThis.files ?? 0) + 1
  t.teardown(() => writeFileSync(import.meta.url.split('/').at(-1)[0], String(globalThis.files)))
  t.equal(1, 1)
  ${more}`

await t.test('test files that run together share one process until one of them fails', async (t) => {
  const cwd = project(
    t,
    { a: counting(), b: counting(), c: counting(`t.equal('left', 'right')`), d: counting(), e: counting() },
    TOGETHER,
  )
  let output = ''
  const result = await runSuite('test', { cwd, env, write: (text) => (output += text) })
  const nth = (name: string) => readFileSync(join(cwd, name), 'utf8')
  t.strictSame(['a', 'b', 'd', 'e'].map(nth), ['1', '2', '1', '2'])
  t.equal(nth('c'), '1', 'the one that failed was run once more, alone')
  t.strictSame([result.passed, result.failed, result.flaky], [5, 1, []])
  const timed = result.times.map(({ file }) => file.at(-'.test.js'.length - 1))
  t.strictSame(new Set(timed), new Set(['a', 'b', 'c', 'd', 'e']), 'each tells its time')
})

await t.test('a resource that outlives its test file is released when the process ends', async (t) => {
  const lasting = `
  import { endsWithProcess } from '${import.meta.resolve('./lasting.js')}'
  const timer = setInterval(() => {}, 100_000_000)
  const end = () => (clearInterval(timer), writeFileSync('ended', String(globalThis.files)))
  endsWithProcess({ handles: ['Timeout'], end })`
  const cwd = project(t, { a: counting(lasting), b: counting() }, TOGETHER)
  const result = await runSuite('test', { cwd, env, write: () => undefined })
  t.strictSame([result.passed, result.failed], [2, 0])
  t.equal(readFileSync(join(cwd, 'ended'), 'utf8'), '2')
})

await t.test('a clock of slices that a test file replaced is not the clock of the next file', async (t) => {
  const slices = `import { measureSlicesBy, timeSlicer } from '${import.meta.resolve('../../src/base/event-loop.js')}'`
  const replacing = `${slices}
  let now = 0
  measureSlicesBy(() => (now += 1_000))
  t.ok(timeSlicer()(), 'each step is longer than a slice')`
  const next = `${slices}
  const pause = timeSlicer()
  for (let n = 0; n < 1_000; n++) t.equal(pause(), undefined)`
  const result = await runSuite('test', {
    cwd: project(t, { a: counting(replacing), b: counting(next) }, TOGETHER),
    env,
    write: () => undefined,
  })
  t.strictSame([result.passed, result.failed, result.flaky], [1_003, 0, []])
})

/** Kinds of failing files, with the expected output. */
const ways: Readonly<Record<string, readonly [text: string, says: RegExp]>> = {
  'ends its process': [ending, /exitCode: 3/],
  'ends it as if all were well': [ending.replace('3', '0'), /ended: before the file was over/],
  'kills its process': [`import t from 'tap'; t.equal(1, 1); process.kill(process.pid, 'SIGKILL')`, /SIGKILL/],
  throws: [`throw new Error('thrown')`, /not ok \d+ - thrown/],
  'throws later': [
    `import t from 'tap'; setImmediate(() => { throw new Error('thrown') }); await new Promise(() => setInterval(() => {}, 9))`,
    /thrown/,
  ],
  'does not end': [hanging, /not ok \d+ - timeout!/],
  'leaves something behind': [
    `import t from 'tap'; t.equal(1, 1); setInterval(() => {}, 100_000_000)`,
    /not ok \d+ - timeout!/,
  ],
  'is too busy to end': [`import t from 'tap'; for (;;);`, /SIGKILL/],
  'fails in a teardown': [
    `import t from 'tap'; t.teardown(() => { throw new Error('thrown') })`,
    /not ok \d+ - thrown/,
  ],
  'fails in a test that it does not wait for': [
    `import t from 'tap'; t.test('a test fails after a pause', async (t) => { await new Promise(setImmediate); t.equal(1, 2, 'both') })`,
    /not ok \d+ - both/,
  ],
}
await t.test('of test files that run together each failed one is reported, however it fails', async (t) => {
  const files = Object.entries(ways).flatMap(([, [text]], n) => [
    [`${n}-a`, passing],
    [`${n}-b`, text],
  ])
  const { output } = await run(t, Object.fromEntries(files), `${FILES} --together --timeout=5 dist/test/*.test.js`)
  const said = new Map(output.split('# Subtest: dist/test/').map((text) => [text.split('.')[0], text]))
  for (const [n, [way, [, says]]] of Object.entries(ways).entries()) {
    t.match(said.get(`${n}-a`), /^ok \d+ - dist\/test\/\d+-a\.test\.js # time=[\d.]+ms$/m)
    t.match(said.get(`${n}-b`), /^not ok \d+ - dist\/test\/\d+-b\.test\.js # time=[\d.]+ms$/m, way)
    t.match(said.get(`${n}-b`), says, way)
  }
})

await t.test('at most five failed files are run again', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const { output, text, ok } = await run(t, Object.fromEntries(names.map((name) => [name, failing])))
  t.notOk(ok)
  t.notMatch(output, 'run once more')
  t.equal(lastLine(text), '6 passed, 6 failed, 0 skipped')
})

await t.test('the run fails if a suite ends before its summary', async (t) => {
  const { text, ok } = await run(t, { a: passing }, 'exit 4 #')
  t.notOk(ok)
  t.match(text, 'FAILED: npm run test ended with 4 and counted nothing')
  t.equal(lastLine(text), '0 passed, 1 failed, 0 skipped')
})

await t.test('the run fails if the npm script fails although all tests passed', async (t) => {
  const { text, ok } = await run(t, { a: passing }, `${FILES} dist/test/a.test.js; exit 5 #`)
  t.notOk(ok)
  t.match(text, 'FAILED: npm run test ended with 5 and named no failed file')
  t.equal(lastLine(text), '1 passed, 1 failed, 1 skipped')
})

await t.test(`the run fails on more than ${MAX_FLAKY} flaky files in all suites`, async (t) => {
  const result = (suite: string, flaky: number): SuiteResult => ({
    suite,
    passed: 10,
    failed: 0,
    skipped: 0,
    minutes: 1,
    skips: [],
    times: [],
    failures: [],
    flaky: Array.from({ length: flaky }, (_, n) => ({ suite, file: `${n}.test.js`, firstRun: [] })),
  })
  t.ok(report([result('test', 1), result('test:cluster', 1)]).ok)
  const { text, ok } = report([result('test', 2), result('test:cluster', 1)])
  t.notOk(ok)
  t.match(text, 'FAILED: 3 files are flaky, at most 2 may be')
  t.equal(lastLine(text), '20 passed, 3 failed, 0 skipped')
  t.notOk(report([]).ok, 'no suite is no pass')
})
