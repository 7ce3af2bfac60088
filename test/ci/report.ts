import type { SuiteResult } from './suite.ts'
import type { Failure } from './tap-output.ts'

/** Maximum number of flaky files; more fail the whole run. */
export const MAX_FLAKY = 2

const SLOWEST = 10

const lines = (failures: readonly Failure[]): readonly string[] =>
  failures.flatMap(({ file, lines: [first = '', ...rest] }) => [`${file}: ${first}`, ...rest])

const table = (results: readonly SuiteResult[]): readonly string[] => {
  const rows = [
    ['suite', 'passed', 'failed', 'skipped', 'flaky files', 'minutes'],
    ...results.map(({ suite, passed, failed, skipped, flaky, minutes }) => [
      suite,
      ...[passed, failed, skipped, flaky.length].map(String),
      minutes.toFixed(1),
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join('  '),
  )
}

/** Report of a run of all suites: its text, and whether it passed. The last line is `N passed, N failed, N skipped`. */
export const report = (results: readonly SuiteResult[]): { readonly text: string; readonly ok: boolean } => {
  const flaky = results.flatMap((result) => result.flaky)
  const tooMany = flaky.length > MAX_FLAKY
  const sum = (key: 'passed' | 'failed' | 'skipped') => results.reduce((total, result) => total + result[key], 0)
  const failed = sum('failed') + (tooMany ? flaky.length : 0)
  const skips = results.flatMap(({ suite, skips }) =>
    skips.map(([reason, tests]) => `skipped in ${suite}: ${tests} × ${reason || 'no reason given'}`),
  )
  const slowest = results
    .flatMap(({ suite, times }) => times.map((time) => ({ suite, ...time })))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ suite, file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${suite}  ${file}`)
  const text = [
    ...results.flatMap(({ suite, failures, error }) => [
      ...(failures.length === 0 ? [] : [`FAILED in ${suite}`]),
      ...lines(failures),
      ...(error === undefined ? [] : [`FAILED: ${error}`]),
    ]),
    ...flaky.flatMap(({ suite, file, firstRun }) => [
      `FLAKY: ${file} in ${suite} failed once and passed when it was run alone. Its first failure:`,
      ...lines(firstRun),
    ]),
    ...(tooMany ? [`FAILED: ${flaky.length} files are flaky, at most ${MAX_FLAKY} may be`] : []),
    ...skips,
    'the slowest files:',
    ...slowest,
    ...table(results),
    `${sum('passed')} passed, ${failed} failed, ${sum('skipped')} skipped`,
  ].join('\n')
  return { text, ok: failed === 0 && results.length > 0 }
}
