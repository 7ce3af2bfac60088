import { failureOf, ferretdb } from '../adapters/ferretdb.ts'

/** `node dist/test/ci/stand-in.js` builds the stand-in for MongoDB before the tests: a first build may take longer than a test may. */
const LIMIT_MS = 400_000
try {
  await ferretdb(LIMIT_MS)
} catch (error) {
  console.log(`not built: the stand-in for MongoDB: ${failureOf(error)}`)
  process.exitCode = 1
}
