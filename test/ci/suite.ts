import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { counts, type Failure, type FileTime, failures, fileTimes, skipReasons } from './tap-output.ts'

/** Maximum number of failed files to rerun; more are not flaky. */
const MAX_SECOND_RUNS = 5

export type FlakyFile = { readonly suite: string; readonly file: string; readonly firstRun: readonly Failure[] }

export type SuiteResult = {
  readonly suite: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly minutes: number
  readonly skips: readonly (readonly [reason: string, tests: number])[]
  /** Duration of each test file in the first run, slowest first. */
  readonly times: readonly FileTime[]
  /** Failures of the files that failed twice or were not rerun. */
  readonly failures: readonly Failure[]
  /** Reason of a failure without a failed assertion. */
  readonly error?: string
  /** Files that failed first and passed when rerun alone. */
  readonly flaky: readonly FlakyFile[]
}

export type Project = {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Receives all output of the suite. */
  readonly write: (text: string) => void
}

type Run = { readonly output: string; readonly code: number | null; readonly failedFiles: readonly string[] }

/**
 * Runs `npm run <suite>` in a built project, without the pre-scripts of npm. With `only`, runs that test file. `save`
 * names a file: on entry the test files to run, at the end the failed ones.
 */
const run = async (suite: string, { cwd, env, write }: Project, only?: string): Promise<Run> => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-suite-'))
  const save = join(directory, 'failed-files')
  if (only !== undefined) writeFileSync(save, `${only}\n`)
  try {
    const child = spawn('npm', ['run', '--ignore-scripts', suite, '--', `--save=${save}`], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        write(text)
      })
    const code = await new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail))
    const failedFiles = existsSync(save) ? readFileSync(save, 'utf8').split('\n').filter(Boolean) : []
    return { output, code, failedFiles }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

type Verdict = Pick<SuiteResult, 'failed' | 'failures' | 'flaky' | 'error'>

/** Reruns each failed file alone: it is flaky if it passes. */
const verdict = async (suite: string, first: Run, again: (file: string) => Promise<Run>): Promise<Verdict> => {
  const counted = counts(first.output)
  const firstRun = failures(first.output)
  if (first.code === 0 && counted !== undefined) return { failed: 0, failures: [], flaky: [] }
  if (counted === undefined)
    return {
      failed: 1,
      failures: firstRun,
      flaky: [],
      error: `npm run ${suite} ended with ${first.code} and counted nothing`,
    }
  if (first.failedFiles.length === 0)
    return {
      failed: Math.max(1, counted.fail),
      failures: firstRun,
      flaky: [],
      error: `npm run ${suite} ended with ${first.code} and named no failed file`,
    }
  if (first.failedFiles.length > MAX_SECOND_RUNS)
    return { failed: Math.max(1, counted.fail), failures: firstRun, flaky: [] }
  const flaky: FlakyFile[] = []
  const failedTwice: Failure[] = []
  let failed = 0
  for (const file of first.failedFiles) {
    const { code, output } = await again(file)
    const secondCount = counts(output)
    const firstFailures = firstRun.filter((failure) => failure.file === file)
    if (code === 0 && secondCount !== undefined && secondCount.pass > 0) {
      flaky.push({ suite, file, firstRun: firstFailures })
    } else {
      failed += Math.max(1, secondCount?.fail ?? 0)
      failedTwice.push(...firstFailures, ...failures(output))
    }
  }
  return { failed, failures: failedTwice, flaky }
}

/** Runs a suite and reruns each failed test file. */
export const runSuite = async (suite: string, project: Project): Promise<SuiteResult> => {
  const start = performance.now()
  const first = await run(suite, project)
  const judged = await verdict(suite, first, (file) => {
    project.write(`\n# ${file} failed. It is run once more, alone.\n`)
    return run(suite, project, file)
  })
  const { pass = 0, skip = 0 } = counts(first.output) ?? {}
  return {
    suite,
    passed: pass,
    skipped: skip,
    minutes: (performance.now() - start) / 60_000,
    skips: skipReasons(first.output),
    times: fileTimes(first.output),
    ...judged,
  }
}
