import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { report } from './report.ts'
import { runSuite, type SuiteResult } from './suite.ts'

/**
 * `node dist/test/ci/run.js <report> <suite>…` runs npm scripts one after another in a built project and writes the
 * report to a file.
 */
const [reportFile, ...suites] = process.argv.slice(2)
if (reportFile === undefined || suites.length === 0) {
  console.error('usage: node dist/test/ci/run.js <file for the report> <npm script>…')
  process.exit(2)
}
const results: SuiteResult[] = []
for (const suite of suites)
  results.push(
    await runSuite(suite, {
      cwd: resolve(import.meta.dirname, '../../..'),
      env: process.env,
      write: (text) => void process.stdout.write(text),
    }),
  )
const { text, ok } = report(results)
writeFileSync(reportFile, `${text}\n`)
process.exitCode = ok ? 0 : 1
