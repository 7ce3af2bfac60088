// `npm run test:one -- test/….test.ts… [option]…` runs test files, with the options of files.ts. Node.js 22.18 and later
// run unit tests from their source. All others run from `dist`: changed sources are compiled first, without type checks.
import { spawnSync } from 'node:child_process'

const FILE = /^(?:dist\/)?test\/(.*)\.test\.[jt]s$/
const given = process.argv.slice(2)
const run = (...args) => {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const { suiteOf } = process.features.typescript ? await import('./suites.ts') : {}
const names = given.flatMap((word) => FILE.exec(word)?.[1] ?? [])
if (suiteOf && names.every((name) => suiteOf(name) === 'unit')) {
  run('test/ci/files.ts', ...given)
} else {
  run('node_modules/typescript/bin/tsc', '-p', '.', '--noCheck')
  run('dist/test/ci/files.js', ...given.map((word) => word.replace(FILE, 'dist/test/$1.test.js')))
}
